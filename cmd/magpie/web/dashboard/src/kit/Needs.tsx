import type { ReactNode } from 'react';
import type { Role } from '../gql/schema';
import { t } from '../i18n';
import { useMay } from '../session/Me';
import { Empty } from './Empty';

type Needed = Exclude<Role, 'VIEWER'>;

// Needs shows its children to people with a role, and others what they need.
export function Needs({ atLeast, children }: { atLeast: Needed; children: ReactNode }) {
  return useMay(atLeast) ? children : <NeedsRole atLeast={atLeast} />;
}

// NeedsRole says that a page is for people with a role.
export function NeedsRole({ atLeast }: { atLeast: Needed }) {
  return (
    <Empty icon="lock" title={t(`common.needs.${atLeast}`)}>
      {t('common.needsHelp')}
    </Empty>
  );
}
