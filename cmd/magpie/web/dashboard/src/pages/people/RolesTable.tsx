import { Badge, Box, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { includes, useMe } from '../../session/Me';
import { roles } from './roles';

// What people may do, with the least role for it (docs/roles.md). A text stands where the roles differ in more than yes or no.
const rights = [
  { key: 'find', atLeast: 'VIEWER' },
  { key: 'own', atLeast: 'VIEWER' },
  { key: 'run', atLeast: 'VIEWER' },
  { key: 'build', atLeast: 'EDITOR' },
  { key: 'agents', atLeast: 'EDITOR' },
  { key: 'grants', atLeast: 'EDITOR' },
  { key: 'keys', atLeast: 'ADMIN' },
  { key: 'invite', atLeast: 'ADMIN' },
  { key: 'manage', atLeast: 'ADMIN' },
  { key: 'workspace', atLeast: 'ADMIN' },
  { key: 'delete', atLeast: 'OWNER' },
] as const;

// RolesTable says what each role may do.
export function RolesTable() {
  const me = useMe();
  return (
    <Stack>
      <Text size="sm">{t('people.rolesHelp')}</Text>
      <Box tabIndex={0} role="region" aria-label={t('people.tab.roles')} style={{ overflowX: 'auto', position: 'relative' }}>
        <Table aria-label={t('people.tab.roles')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('people.may')}</Table.Th>
              {roles.map((role) => (
                <Table.Th key={role} ta="center">
                  {t(`common.role.${role}`)}
                  {role === me.role && (
                    <Badge variant="default" tt="none" size="sm" ml={6}>
                      {t('people.you')}
                    </Badge>
                  )}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rights.map(({ key, atLeast }) => (
              <Table.Tr key={key}>
                <Table.Th scope="row" fw={400} miw="12rem">
                  {t(`people.right.${key}`)}
                </Table.Th>
                {roles.map((role) => (
                  <Table.Td key={role} ta="center">
                    <Right name={key} yes={includes(role, atLeast)} isOwner={role === 'OWNER'} />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Box>
      <Text size="sm" c="dimmed">
        {t('people.rolesNote')}
      </Text>
    </Stack>
  );
}

function Right({ name, yes, isOwner }: { name: (typeof rights)[number]['key']; yes: boolean; isOwner: boolean }) {
  if (yes && name === 'invite') return isOwner ? t('people.inviteAll') : t('people.inviteSome');
  if (yes && name === 'manage') return isOwner ? t('people.manageAll') : t('people.manageSome');
  return (
    <>
      <span aria-hidden="true">{yes ? <Icon name="check" size={16} /> : '–'}</span>
      <VisuallyHidden>{yes ? t('common.yes') : t('common.no')}</VisuallyHidden>
    </>
  );
}
