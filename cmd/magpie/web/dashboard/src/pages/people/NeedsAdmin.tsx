import type { ReactNode } from 'react';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { useMay } from '../../session/Me';

// NeedsAdmin shows its children to administrators, and others what they need.
export function NeedsAdmin({ children }: { children: ReactNode }) {
  if (useMay('ADMIN')) return children;
  return (
    <Empty icon="lock" title={t('people.needsAdmin')}>
      {t('people.needsAdminHelp')}
    </Empty>
  );
}
