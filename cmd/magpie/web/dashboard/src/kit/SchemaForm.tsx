import { JsonInput, NumberInput, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { t } from '../i18n';
import { fieldsOf, isBlankValue, type SchemaField, type SchemaValues } from './jsonSchema';

interface Props {
  // JSON schema of an object.
  schema: Record<string, unknown> | null;
  values: SchemaValues;
  onChange: (values: SchemaValues) => void;
  // What is wrong, by the name of the field.
  errors?: Record<string, string | undefined>;
}

// SchemaForm is the form of the arguments of a tool, from its JSON schema. Values that the schema does not name, and those
// with a shape that has no field of its own, are edited as JSON.
export function SchemaForm({ schema, values, onChange, errors = {} }: Props) {
  const named = fieldsOf(schema);
  const others = Object.keys(values).filter((name) => !named.some((field) => field.name === name));
  const fields = [...named, ...others.map((name): SchemaField => guess(name, values[name]))];
  return (
    <Stack gap="sm">
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          error={errors[field.name]}
          onChange={(value) => {
            const { [field.name]: _, ...rest } = values;
            onChange(isBlankValue(value) && !field.required ? rest : { ...values, [field.name]: value });
          }}
        />
      ))}
    </Stack>
  );
}

// guess describes a value that the schema does not name.
function guess(name: string, value: unknown): SchemaField {
  const type =
    typeof value === 'string' ? 'string' : typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'json';
  return { name, title: name, help: '', type, choices: [], required: false, multiline: typeof value === 'string' && value.length > 60 };
}

interface FieldProps {
  field: SchemaField;
  value: unknown;
  error: string | undefined;
  onChange: (value: unknown) => void;
}

function Field({ field, value, error, onChange }: FieldProps) {
  const common = { label: field.title, description: field.help || undefined, required: field.required, error, name: field.name };
  switch (field.type) {
    case 'boolean':
      return (
        <Switch {...common} required={undefined} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
      );
    case 'integer':
    case 'number':
      return (
        <NumberInput
          {...common}
          value={typeof value === 'number' ? value : ''}
          onChange={(next) => onChange(next === '' ? undefined : Number(next))}
          allowDecimal={field.type === 'number'}
          clampBehavior="none"
        />
      );
    case 'list':
      return (
        <TagsInput
          {...common}
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={onChange}
          data={field.choices}
          splitChars={[',', '\n']}
          acceptValueOnBlur
        />
      );
    case 'json':
      return <JSONField {...common} value={value} onChange={onChange} />;
    default: {
      const text = typeof value === 'string' ? value : '';
      if (field.choices.length > 0) {
        return (
          <Select
            {...common}
            data={field.choices}
            value={text || null}
            onChange={(next) => onChange(next ?? undefined)}
            placeholder={t('common.choose')}
            clearable={!field.required}
            clearButtonProps={{ 'aria-label': t('common.clear') }}
          />
        );
      }
      if (field.multiline || text.length > 80 || text.includes('\n')) {
        return (
          <Textarea {...common} value={text} onChange={(event) => onChange(event.currentTarget.value)} autosize minRows={2} maxRows={12} />
        );
      }
      return <TextInput {...common} value={text} onChange={(event) => onChange(event.currentTarget.value)} autoComplete="off" />;
    }
  }
}

interface JSONProps {
  label: string;
  description?: string;
  required?: boolean;
  error: string | undefined;
  name?: string;
  value: unknown;
  onChange: (value: unknown) => void;
}

// JSONField edits a value as JSON. A text that is not JSON leaves the last value, and the field says so.
export function JSONField({ value, onChange, error, ...common }: JSONProps) {
  const [text, setText] = useState(isBlankValue(value) ? '' : JSON.stringify(value, null, 2));
  const [wrong, setWrong] = useState(false);
  return (
    <JsonInput
      {...common}
      error={wrong ? t('common.mistake.json') : error}
      value={text}
      autosize
      minRows={2}
      maxRows={20}
      className="mono"
      onChange={(next) => {
        setText(next);
        if (next.trim() === '') {
          setWrong(false);
          onChange(undefined);
          return;
        }
        try {
          onChange(JSON.parse(next));
          setWrong(false);
        } catch {
          setWrong(true);
        }
      }}
    />
  );
}
