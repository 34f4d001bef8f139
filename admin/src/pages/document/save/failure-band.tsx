import { fieldAt, labelOf } from '../../../schema/fields.ts';
import { useWords } from '../../../words/index.ts';
import styles from '../editor/editor.module.css';
import type { EditorView } from '../editor/use-editor.ts';

/** Says why a save was refused, if no field on the page says it. */
export function FailureBand({ editor }: { editor: EditorView }) {
  const { form: words } = useWords();
  const { failure, form } = editor;
  return (
    <div role="alert" className={failure === null ? styles.nothing : styles.failure}>
      {failure !== null && (
        <>
          <p>{failure.text}</p>
          {failure.unseen.length > 0 && (
            <>
              <p>{words.notShown}</p>
              <ul>
                {failure.unseen.map(({ field, message }) => {
                  const found = fieldAt(form.fields, field);
                  return <li key={field}>{found === undefined ? message : `${labelOf(found)}: ${message}`}</li>;
                })}
              </ul>
            </>
          )}
        </>
      )}
    </div>
  );
}
