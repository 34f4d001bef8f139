/** Blocks that are no text: what Word and browsers put around it. */
const noText = /<(style|script|xml|title)\b[\s\S]*?(?:<\/\1\s*>|$)|<!--[\s\S]*?-->|<(?:link|meta|base)\b[^>]*>/gi;

const tag = /<([a-z][\w:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>/gi;

const attribute = /\s([a-z][\w:-]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?/gi;

/** The attributes that the editor reads of a tag; `data-` is its own. */
const kept = /^(?:href|alt|start|type|class|colspan|rowspan|data-[\w-]+)$/i;

/**
 * HTML of another program, as it is read for a text: without styles, handlers and scripts. None of them would come into
 * the text, which is made by the schema; but already to parse them is against the policy of the page.
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
