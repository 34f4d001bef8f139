import { Button } from '@mantine/core';
import { Panel } from '../../parts/panel.tsx';
import { tellError } from '../../parts/toast.ts';
import { groupsOf } from '../../schema/model.ts';
import { useModel } from '../../service/model.tsx';
import { changePreferences, usePreferences } from '../../service/preferences.ts';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { Icon, type IconName } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import styles from './home.module.css';

/** Three cards for first-time users, until the user hides them for good. */
export function FirstSteps() {
  const { home } = useWords();
  const model = useModel();
  const { data } = usePreferences();
  const [first] = groupsOf(model).flatMap((group) => group.collections);
  if (data === undefined || data.hidesFirstSteps === true || first === undefined) return null;
  const hide = async () => {
    try {
      await changePreferences({ hidesFirstSteps: true });
    } catch (error) {
      tellError(error);
    }
  };
  return (
    <Panel
      title={home.firstSteps}
      actions={
        <Button variant="subtle" color="gray" size="compact-sm" onClick={hide}>
          {home.hide}
        </Button>
      }
    >
      <ol className={styles.steps}>
        <Step
          icon="edit"
          title={home.changeSomething}
          text={home.changeSomethingText}
          to={addresses.list(first.slug)}
        />
        <Step icon="history" title={home.seeHistory} text={home.seeHistoryText} />
        <Step icon="clock" title={home.lookBack} text={home.lookBackText} />
      </ol>
    </Panel>
  );
}

function Step({ icon, title, text, to }: { icon: IconName; title: string; text: string; to?: string }) {
  return (
    <li>
      <Icon name={icon} />
      <div>
        <h3>{to === undefined ? title : <Link to={to}>{title}</Link>}</h3>
        <p>{text}</p>
      </div>
    </li>
  );
}
