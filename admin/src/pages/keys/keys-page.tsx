import { Button, Menu, NumberInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { ApiKey, ApiKeyWithSecret } from '../../../../client/index.ts';
import { ActorName } from '../../parts/actors.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Ago } from '../../parts/times.tsx';
import { tell } from '../../parts/toast.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { invalidate } from '../../service/queries.ts';
import { usePages } from '../../service/use-pages.ts';
import { Loading } from '../../shell/loading.tsx';
import { Failure, Notice, Page } from '../../shell/page.tsx';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import { KeyDialog } from './key-dialog.tsx';
import { rightsOf } from './scopes.ts';
import { SecretDialog } from './secret-dialog.tsx';

const keysKey = ['keys'] as const;

type Question = { kind: 'revoke' | 'rotate'; key: ApiKey } | null;

/** The API keys that were created at run time. */
export function KeysPage() {
  const { shell, people } = useWords();
  const { managesKeys } = useModel();
  const isNow = useAsOf() === null;
  const [isMaking, setMaking] = useState(false);
  const [question, setQuestion] = useState<Question>(null);
  const [made, setMade] = useState<ApiKeyWithSecret | null>(null);
  const { data, error, refetch, page, setPage } = usePages(keysKey, client.keys.list, { enabled: managesKeys });
  const show = async (key: ApiKeyWithSecret) => {
    setMade(key);
    await invalidate(keysKey);
  };
  if (!managesKeys) {
    return (
      <Page title={shell.keys}>
        <Notice icon="lock" title={people.mayNot}>
          <p>{people.mayNotText}</p>
        </Notice>
      </Page>
    );
  }
  return (
    <Page
      title={shell.keys}
      about={people.keysAbout}
      actions={isNow && <Button onClick={() => setMaking(true)}>{people.newKey}</Button>}
    >
      {error !== null && <Failure error={error} again={() => void refetch()} />}
      {error === null && data === undefined && <Loading />}
      {data !== undefined && (
        <Keys keys={data.docs} ask={isNow ? setQuestion : null}>
          <Pager page={page} pages={data.totalPages} setPage={setPage} />
        </Keys>
      )}
      {isMaking && <KeyDialog onClose={() => setMaking(false)} onMade={show} />}
      {question?.kind === 'revoke' && <RevokeDialog apiKey={question.key} onClose={() => setQuestion(null)} />}
      {question?.kind === 'rotate' && (
        <RotateDialog apiKey={question.key} onClose={() => setQuestion(null)} onMade={show} />
      )}
      {made !== null && <SecretDialog made={made} onClose={() => setMade(null)} />}
    </Page>
  );
}

type KeysProps = { keys: ApiKey[]; ask: ((question: Question) => void) | null; children: ReactNode };

function Keys({ keys, ask, children }: KeysProps) {
  const { shell, people } = useWords();
  return (
    <Panel title={shell.keys}>
      {keys.length === 0 && <p className={panelStyles.empty}>{people.noKeys}</p>}
      <ul className={panelStyles.rows}>
        {keys.map((key) => (
          <li key={key.id}>
            <KeyFacts apiKey={key} />
            {ask !== null && <KeyMenu apiKey={key} ask={ask} />}
          </li>
        ))}
      </ul>
      {children}
    </Panel>
  );
}

function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  const { people } = useWords();
  const { name, createdAt, createdBy, lastUsedAt, expiresAt } = apiKey;
  const rights = rightsOf(apiKey, people);
  const isExpired = expiresAt !== null && Date.parse(expiresAt) < Date.now();
  return (
    <div className={panelStyles.main}>
      <strong>{name}</strong>
      {(rights.length > 0 ? rights : [people.noScopes]).map((line) => (
        <div key={line}>{line}</div>
      ))}
      <div className={panelStyles.soft}>
        <Ago moment={createdAt} /> · <ActorName actor={createdBy} /> · {people.lastUsed}:{' '}
        {lastUsedAt === null ? people.never : <Ago moment={lastUsedAt} />} ·{' '}
        {isExpired ? people.expired : people.expiresOn}:{' '}
        {expiresAt === null ? people.neverExpires : <Ago moment={expiresAt} />}
      </div>
    </div>
  );
}

function KeyMenu({ apiKey, ask }: { apiKey: ApiKey; ask: (question: Question) => void }) {
  const { shared, people } = useWords();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="compact-sm" aria-label={`${shared.more}: ${apiKey.name}`}>
          <Icon name="more" size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => ask({ kind: 'rotate', key: apiKey })}>{people.rotate}</Menu.Item>
        <Menu.Item color="red" onClick={() => ask({ kind: 'revoke', key: apiKey })}>
          {people.revoke}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { people } = useWords();
  return (
    <Confirm
      title={`${people.revoke}: ${apiKey.name}`}
      button={people.revoke}
      isDangerous
      reason="optional"
      onClose={onClose}
      confirm={async (options) => {
        await client.keys.revoke(apiKey.id, options);
        tell(people.revoked);
        await invalidate(keysKey);
      }}
    >
      <p>{people.revokeText}</p>
    </Confirm>
  );
}

type RotateProps = { apiKey: ApiKey; onClose: () => void; onMade: (key: ApiKeyWithSecret) => void };

function RotateDialog({ apiKey, onClose, onMade }: RotateProps) {
  const { people } = useWords();
  const [hours, setHours] = useState(1);
  return (
    <Confirm
      title={`${people.rotate}: ${apiKey.name}`}
      button={people.rotate}
      reason="optional"
      onClose={onClose}
      confirm={async (options) => {
        onMade(await client.keys.rotate(apiKey.id, { ...options, overlapSeconds: Math.round(hours * 3600) }));
      }}
    >
      <p>{people.rotateText}</p>
      <NumberInput
        label={people.overlap}
        value={hours}
        onChange={(value) => setHours(Number(value) || 0)}
        min={0}
        max={7 * 24}
      />
    </Confirm>
  );
}
