import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { Icon } from './Icon';

// FilterText is the field of a list's filter by text. It tells a new text after a moment without typing.
export function FilterText({ label, value, onChange }: { label: string; value: string; onChange: (text: string | undefined) => void }) {
  const [text, setText] = useState(value);
  const later = useDebouncedCallback((next: string) => onChange(next.trim() || undefined), 300);
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      label={label}
      type="search"
      value={text}
      leftSection={<Icon name="search" size={16} />}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
      style={{ flex: '1 1 12rem' }}
    />
  );
}
