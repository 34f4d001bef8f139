import { useParams } from 'wouter';
import { useGlobal } from '../../service/model.tsx';
import { NotFound } from '../../shell/page.tsx';
import { SubjectPage } from './document-page.tsx';

/** The page of a global. */
export function GlobalPage() {
  const { slug = '' } = useParams();
  const global = useGlobal(slug);
  if (global === undefined) return <NotFound />;
  return <SubjectPage key={slug} subject={{ kind: 'global', global }} />;
}
