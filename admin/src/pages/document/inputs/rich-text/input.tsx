import { useMemo } from 'react';
import { deferred } from '../../../../parts/deferred.tsx';
import { useModel } from '../../../../service/model.tsx';
import { Loading } from '../../../../shell/loading.tsx';
import { Icon } from '../../../../theme/icons.tsx';
import { useWords } from '../../../../words/index.ts';
import type { InputProps } from '../types.ts';
import styles from './input.module.css';
import { type Feature, features, shapeOf } from './shape.ts';

const RichTextEditor = deferred(async () => (await import('./editor.tsx')).RichTextEditor, <Loading />);

/** Rich text, stored as ProseMirror JSON. A value of which the editor would lose a part is shown and never written. */
export function RichTextInput(props: InputProps) {
  const { inputs } = useWords();
  const model = useModel();
  // Read once, as every input does.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another value comes with another key
  const shape = useMemo(() => shapeOf(props.defaultValue), []);
  if (shape.kind === 'foreign') return <AsJson {...props} sentence={inputs.foreign} />;
  if (shape.kind === 'unknown') return <AsJson {...props} sentence={inputs.unknownParts(shape.parts.join(', '))} />;
  const allowed = props.field.richText?.features ?? model.richText ?? features;
  return (
    <RichTextEditor
      {...props}
      doc={shape.doc}
      allowed={features.filter((feature: Feature) => allowed.includes(feature))}
      broken={<AsJson {...props} sentence={inputs.broken} />}
    />
  );
}

/** Shows a value as JSON, and says why it cannot be edited. */
function AsJson({ id, describedBy, defaultValue, sentence }: InputProps & { sentence: string }) {
  return (
    <div className={styles.foreign}>
      <p>
        <Icon name="info" size={16} /> <span>{sentence}</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a part that scrolls */}
      <pre id={id} aria-describedby={describedBy} tabIndex={0}>
        {JSON.stringify(defaultValue, null, 2)}
      </pre>
    </div>
  );
}
