/** Elements without text, which Word and browsers put around the text. */
const noText = /<(style|script|xml|title)\b[\s\S]*?(?:<\/\1\s*>|$)|<!--[\s\S]*?-->|<(?:link|meta|base)\b[^>]*>/gi;

const tag = /<([a-z][\w:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>/gi;

const attribute = /\s([a-z][\w:-]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?/gi;

/** The attributes that the editor reads; those with `data-` are its own. */
const kept = /^(?:href|alt|start|type|class|colspan|rowspan|data-[\w-]+)$/i;

/**
 * Removes styles, handlers and scripts from pasted HTML. The schema of the editor would keep them out of the text, but
 * even parsing them violates the content security policy of the page.
 */
export function pasted(html: string): string {
  return html.replace(noText, '').replace(tag, (_all, name: string, attributes: string) => {
    const isPlain = /^b$/i.test(name) && /font-weight:\s*(?:normal|400)/i.test(attributes);
    const own = [...attributes.matchAll(attribute)].filter(([, key = '']) => kept.test(key)).map(([text]) => text);
    const end = /\/\s*$/.test(attributes) ? ' /' : '';
    // Google Docs puts everything into a <b> that is not bold.
    return `<${isPlain ? 'span' : name}${own.join('')}${end}>`;
  });
}
