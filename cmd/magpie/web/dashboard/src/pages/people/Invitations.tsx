import { ActionIcon, Button, Group, Menu, Modal, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { problemOf } from '../../api/errors';
import type { InvitationStatus, Role } from '../../gql/schema';
import { formatDate, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { includes, useMe } from '../../session/Me';
import { RoleField } from './ChangeRole';
import {
  type InvitationRowFragment,
  PeopleInvitationsDocument,
  PeopleInviteDocument,
  PeopleResendDocument,
  PeopleRevokeDocument,
} from './people.gql';
import { grantable } from './roles';
import { ShownLink } from './ShownLink';
import { useErrorFocus } from './useErrorFocus';

interface Sent {
  url: string;
  invitation: InvitationRowFragment;
}

const states = ['PENDING', 'ACCEPTED', 'EXPIRED', 'REVOKED'] as const;

// Invitations lists who was invited, and invites people by links that are shown once.
export function Invitations() {
  const me = useMe();
  const navigate = useNavigate();
  const { status, invite: inviting = false } = useSearch({ from: '/shell/people' });
  const list = usePaged(PeopleInvitationsDocument, { status: status ?? null }, (data) => data.invitations);
  const setInviting = (invite: boolean) =>
    void navigate({ to: '/people', search: { tab: 'invitations', status, invite: invite || undefined }, replace: true });
  const [sent, setSent] = useState<Sent | null>(null);
  const resend = useAction(PeopleResendDocument);
  const revoke = useAction(PeopleRevokeDocument, { success: t('people.inviteRevoked') });

  const onResend = async (invitation: InvitationRowFragment) => {
    const data = await resend.run({ id: invitation.id });
    if (!data) return;
    setSent(data.resendInvitation);
    list.reload();
  };
  const onRevoke = async (invitation: InvitationRowFragment) => {
    const sure = await confirm({
      title: t('people.revokeInvite', { email: invitation.email }),
      body: t('people.revokeInviteBody'),
      action: t('people.keys.revoke'),
    });
    if (sure && (await revoke.run({ id: invitation.id }))) list.reload();
  };

  const columns: Column<InvitationRowFragment>[] = [
    { key: 'email', title: t('people.email'), cell: ({ email }) => email },
    { key: 'role', title: t('people.role'), from: 'xs', cell: ({ role }) => t(`common.role.${role}`) },
    { key: 'state', title: t('common.state'), cell: ({ status: state }) => <Status value={state} /> },
    { key: 'sent', title: t('people.sent'), from: 'sm', cell: ({ sentAt }) => <When at={sentAt} /> },
    {
      key: 'end',
      title: t('people.until'),
      from: 'md',
      cell: (invitation) =>
        invitation.acceptedAt ? (
          <When at={invitation.acceptedAt} />
        ) : invitation.revokedAt ? (
          <When at={invitation.revokedAt} />
        ) : (
          formatDate(invitation.expiresAt)
        ),
    },
    {
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      width: '5rem',
      cell: (invitation) => {
        const again = invitation.status !== 'ACCEPTED' && includes(me.role, invitation.role);
        if (!again && invitation.status !== 'PENDING') return null;
        return (
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={t('people.actionsOf', { name: invitation.email })}>
                <Icon name="more" />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {again && (
                <Menu.Item leftSection={<Icon name="refresh" size={16} />} onClick={() => void onResend(invitation)}>
                  {t('people.resend')}
                </Menu.Item>
              )}
              {invitation.status === 'PENDING' && (
                <Menu.Item c="red" leftSection={<Icon name="close" size={16} />} onClick={() => void onRevoke(invitation)}>
                  {t('people.keys.revoke')}
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        );
      },
    },
  ];
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          aria-label={t('common.state')}
          data={[{ value: 'ALL', label: t('common.all') }, ...states.map((value) => ({ value, label: t(`common.status.${value}`) }))]}
          value={status ?? 'ALL'}
          onChange={(value) =>
            void navigate({
              to: '/people',
              search: { tab: 'invitations', status: value === 'ALL' ? undefined : (value as InvitationStatus) },
              replace: true,
            })
          }
          visibleFrom="xs"
        />
        <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setInviting(true)}>
          {t('people.invite')}
        </Button>
      </Group>
      <DataTable
        label={t('people.tab.invitations')}
        columns={columns}
        list={list}
        rowKey={(invitation) => invitation.id}
        empty={
          <Empty icon="mail" title={t('people.noInvitation')}>
            {t('people.noInvitationHelp')}
          </Empty>
        }
      />
      <Modal
        opened={inviting}
        onClose={() => setInviting(false)}
        title={t('people.invite')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        <InviteForm
          onClose={() => setInviting(false)}
          onSent={(made) => {
            setInviting(false);
            setSent(made);
            list.reload();
          }}
        />
      </Modal>
      <ShownLink
        title={sent ? t('people.inviteFor', { email: sent.invitation.email }) : ''}
        url={sent?.url ?? null}
        expiresAt={sent?.invitation.expiresAt ?? null}
        help={t('people.inviteShown')}
        onClose={() => setSent(null)}
      />
    </Stack>
  );
}

function InviteForm({ onClose, onSent }: { onClose: () => void; onSent: (made: Sent) => void }) {
  const me = useMe();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('VIEWER');
  const invite = useAction(PeopleInviteDocument, { quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useErrorFocus(form, invite.error);
  const problem = invite.error ? problemOf(invite.error) : null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const data = await invite.run({ input: { email, role } });
    if (data) onSent(data.inviteMember);
  };
  return (
    <form ref={form} onSubmit={submit}>
      <Stack>
        <TextInput
          type="email"
          label={t('people.email')}
          description={t('people.emailHelp')}
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={problem?.field === 'email' ? problem.message : undefined}
          data-autofocus
        />
        <RoleField value={role} onChange={setRole} among={grantable(me.role)} />
        {invite.error && problem?.field !== 'email' && <ProblemNotice error={invite.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={invite.running}>
            {t('people.makeLink')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
