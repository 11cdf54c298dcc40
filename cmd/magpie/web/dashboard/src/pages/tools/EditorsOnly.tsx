import type { ReactNode } from 'react';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { useMay } from '../../session/Me';

// EditorsOnly shows its children to editors, and says so to others.
export function EditorsOnly({ children }: { children: ReactNode }) {
  if (useMay('EDITOR')) return children;
  return <Empty icon="lock" title={t('tools.editorsOnly')} />;
}
