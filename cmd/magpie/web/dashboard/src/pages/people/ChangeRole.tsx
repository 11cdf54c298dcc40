import { Alert, Button, Group, Modal, Radio, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { Role } from '../../gql/schema';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMe } from '../../session/Me';
import { type MemberRowFragment, PeopleChangeRoleDocument } from './people.gql';
import { choices } from './roles';

interface Props {
  member: MemberRowFragment | null;
  onClose: () => void;
  onChanged: () => void;
}

// ChangeRole gives a member another role.
export function ChangeRole({ member, onClose, onChanged }: Props) {
  return (
    <Modal
      opened={member !== null}
      onClose={onClose}
      title={member ? t('people.roleOf', { name: member.user.name }) : ''}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {member && <RoleForm member={member} onClose={onClose} onChanged={onChanged} />}
    </Modal>
  );
}

function RoleForm({ member, onClose, onChanged }: Props & { member: MemberRowFragment }) {
  const me = useMe();
  const isSelf = member.user.id === me.user.id;
  const [role, setRole] = useState<Role>(member.role);
  const change = useAction(PeopleChangeRoleDocument, { quiet: true, success: t('people.roleChanged') });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await change.run({ id: member.id, role }))) return;
    onChanged();
    onClose();
    // Everything that is shown depends on the person's own role.
    if (isSelf) window.location.reload();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <RoleField value={role} onChange={setRole} among={choices(me.role, member.role, isSelf)} />
        {isSelf && <Alert color="orange">{t('people.roleSelf')}</Alert>}
        {change.error && <ProblemNotice error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={change.running} disabled={role === member.role}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

// RoleField chooses a role, with what each may do.
export function RoleField({ value, onChange, among }: { value: Role; onChange: (role: Role) => void; among: Role[] }) {
  return (
    <Radio.Group label={t('people.role')} value={value} onChange={(next) => onChange(next as Role)}>
      <Stack gap="xs" mt="xs">
        {among.map((role) => (
          <Radio key={role} value={role} label={t(`common.role.${role}`)} description={t(`people.roleHelp.${role}`)} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
