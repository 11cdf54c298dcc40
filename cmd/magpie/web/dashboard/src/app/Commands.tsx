import { Modal, ScrollArea, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { t } from '../i18n';
import { Icon } from '../kit/Icon';
import { includes, useMe } from '../session/Me';
import { places } from './nav';
import { type Command, useActions } from './useActions';

// Commands is the list of pages and actions that Ctrl K opens; a text that names none is searched for.
export default function Commands({ close }: { close: () => void }) {
  const me = useMe();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const wanted = text.trim().toLocaleLowerCase();
  const pages: Command[] = places
    .flatMap((group) => group.places)
    .filter(({ atLeast }) => includes(me.role, atLeast))
    .map(({ to, label, icon }) => ({ label: t(label), icon, run: () => void navigate({ to }) }));
  const commands = [...pages, ...useActions()].filter(({ label }) => label.toLocaleLowerCase().includes(wanted));
  const isNamed = commands.length > 0;
  if (wanted) {
    const q = text.trim();
    commands.push({
      label: t('common.searchFor', { text: q }),
      icon: 'search',
      run: () => void navigate({ to: '/search', search: { q } }),
    });
    commands.push({ label: t('common.askAbout', { text: q }), icon: 'ask', run: () => void navigate({ to: '/ask', search: { q } }) });
  }
  const chosen = Math.min(at, commands.length - 1);
  useEffect(() => document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [id, chosen]);
  const run = (command: Command | undefined) => {
    close();
    command?.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (move) {
      setAt((chosen + move + commands.length) % commands.length);
      event.preventDefault();
    } else if (event.key === 'Enter') run(commands[chosen]);
  };
  return (
    <Modal opened onClose={close} withCloseButton={false} padding="xs" yOffset="10vh" centered={false} aria-label={t('common.commands')}>
      <TextInput
        data-autofocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        placeholder={t('common.commandsPlaceholder')}
        aria-label={t('common.commands')}
        leftSection={<Icon name="search" />}
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={`${id}-${chosen}`}
      />
      <Text size="sm" c="dimmed" px="sm" mt={isNamed ? undefined : 'xs'} role="status">
        {isNamed ? '' : t('common.commandsNone')}
      </Text>
      <ScrollArea.Autosize mah="50vh" mt="xs">
        <div role="listbox" id={id} aria-label={t('common.commands')}>
          {commands.map((command, n) => (
            <UnstyledButton
              key={command.label}
              id={`${id}-${n}`}
              role="option"
              aria-selected={n === chosen}
              tabIndex={-1}
              onClick={() => run(command)}
              onMouseMove={() => setAt(n)}
              w="100%"
              px="sm"
              py={8}
              bg={n === chosen ? 'var(--mantine-color-default-hover)' : undefined}
              style={{ display: 'flex', gap: 10, alignItems: 'center', borderRadius: 'var(--mantine-radius-md)' }}
            >
              <Icon name={command.icon} />
              <Text size="sm" className="wrap">
                {command.label}
              </Text>
            </UnstyledButton>
          ))}
        </div>
      </ScrollArea.Autosize>
    </Modal>
  );
}
