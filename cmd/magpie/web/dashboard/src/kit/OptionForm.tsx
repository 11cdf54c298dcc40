import {
  Anchor,
  Fieldset,
  JsonInput,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { t } from '../i18n';
import { word } from '../i18n/words';
import { isActive, isBlank, type Mistakes, type OptionTable, type Values } from './options';

interface Props {
  table: OptionTable;
  values: Values;
  onChange: (values: Values) => void;
  // What is wrong, by path; shown at the fields.
  mistakes?: Mistakes;
  // The message of the service about one field, by its path.
  problem?: { field: string; message: string } | null;
  // Names of secrets that are stored: their fields may stay empty.
  stored?: Set<string>;
  prefix?: string;
}

// OptionForm is the form of a table of options. It shows what applies with the present values, by groups, and what is for
// few people on request.
export function OptionForm({ table, values, onChange, mistakes = {}, problem, stored, prefix = '' }: Props) {
  const [all, setAll] = useState(false);
  const active = table.filter((option) => isActive(option, table, values));
  const isWrong = (name: string) =>
    Object.keys(mistakes).some((path) => path === prefix + name || path.startsWith(`${prefix}${name}.`)) ||
    concerns(problem, prefix + name);
  const shown = active.filter(
    (option) => all || !option.advanced || option.required || !isBlank(values[option.name]) || isWrong(option.name),
  );
  const hidden = active.length - shown.length;
  const groups = [...new Set(shown.map((option) => option.group ?? ''))];
  const fields = (group: string) =>
    shown
      .filter((option) => (option.group ?? '') === group)
      .map((option) => (
        <OptionField
          key={option.name}
          option={option}
          path={prefix + option.name}
          value={values[option.name]}
          onChange={(value) => onChange({ ...values, [option.name]: value })}
          mistakes={mistakes}
          problem={problem}
          stored={stored}
        />
      ));
  return (
    <Stack gap="md">
      {groups.map((group) =>
        group === '' ? (
          <Stack key={group} gap="sm">
            {fields(group)}
          </Stack>
        ) : (
          <Fieldset key={group} legend={group}>
            <Stack gap="sm">{fields(group)}</Stack>
          </Fieldset>
        ),
      )}
      {(hidden > 0 || all) && (
        <Anchor
          component="button"
          type="button"
          size="sm"
          onClick={() => setAll(!all)}
          aria-expanded={all}
          style={{ alignSelf: 'flex-start' }}
        >
          {all ? t('common.fewerOptions') : t('common.moreOptions', { count: hidden })}
        </Anchor>
      )}
    </Stack>
  );
}

// concerns reports whether a problem is about an option, a field of it or an entry of its list.
function concerns(problem: Props['problem'], path: string): boolean {
  return problem?.field === path || (problem?.field.startsWith(`${path}.`) ?? false) || (problem?.field.startsWith(`${path}[`) ?? false);
}

interface FieldProps {
  option: OptionTable[number];
  path: string;
  value: unknown;
  onChange: (value: unknown) => void;
  mistakes: Mistakes;
  problem?: { field: string; message: string } | null;
  stored?: Set<string>;
}

function OptionField({ option, path, value, onChange, mistakes, problem, stored }: FieldProps) {
  const mistake = mistakes[path];
  const error =
    problem && concerns(problem, path)
      ? problem.message
      : mistake
        ? t(`common.mistake.${mistake}`, { min: option.min ?? '', max: option.max ?? '' })
        : undefined;
  const isStored = stored?.has(path) ?? false;
  const common = {
    label: option.title,
    description: option.help || undefined,
    required: option.required && isBlank(option.default) && !isStored,
    error,
    name: path,
  };
  const placeholder = isStored
    ? t('common.stored')
    : isBlank(option.default)
      ? (option.example ?? undefined)
      : word(String(option.default));
  if (option.type === 'boolean') {
    return (
      <Switch
        {...common}
        required={undefined}
        checked={(value ?? option.default ?? false) === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (option.type === 'integer') {
    return (
      <NumberInput
        {...common}
        placeholder={placeholder}
        value={typeof value === 'number' ? value : ''}
        onChange={(next) => onChange(next === '' ? undefined : Number(next))}
        min={option.min ?? undefined}
        max={option.max ?? undefined}
        allowDecimal={false}
        clampBehavior="none"
      />
    );
  }
  if (option.type === 'string_list') {
    return (
      <TagsInput
        {...common}
        placeholder={isBlank(value) ? placeholder : undefined}
        value={(value as string[] | undefined) ?? []}
        onChange={onChange}
        data={option.choices}
        splitChars={[',', '\n']}
        acceptValueOnBlur
        clearable
        clearButtonProps={{ 'aria-label': t('common.clear') }}
      />
    );
  }
  if (option.type === 'object') {
    const table = 'fields' in option ? (option.fields as OptionTable) : [];
    if (table.length === 0) return <JSONField {...common} value={value} onChange={onChange} />;
    return (
      <Fieldset legend={option.title}>
        <OptionForm
          table={table}
          values={(value as Values | undefined) ?? {}}
          onChange={onChange}
          mistakes={mistakes}
          problem={problem}
          stored={stored}
          prefix={`${path}.`}
        />
      </Fieldset>
    );
  }
  const text = typeof value === 'string' ? value : '';
  if (option.choices.length > 0) {
    return (
      <Select
        {...common}
        placeholder={placeholder ?? t('common.choose')}
        data={option.choices.map((choice) => ({ value: choice, label: word(choice) }))}
        value={text || null}
        onChange={(next) => onChange(next ?? undefined)}
        clearable={!option.required}
        clearButtonProps={{ 'aria-label': t('common.clear') }}
        searchable={option.choices.length > 8}
      />
    );
  }
  if (option.multiline) {
    return (
      <Textarea
        {...common}
        placeholder={placeholder}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        autosize
        minRows={3}
        maxRows={12}
        className="mono"
      />
    );
  }
  if (option.sensitive) {
    return (
      <PasswordInput
        {...common}
        placeholder={placeholder}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('common.showSecret') }}
      />
    );
  }
  const type = option.format === 'date' ? 'date' : option.format === 'url' ? 'url' : option.format === 'email' ? 'email' : 'text';
  return (
    <TextInput
      {...common}
      type={type}
      placeholder={placeholder}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
    />
  );
}

// JSONField edits an object whose fields are not known.
function JSONField({ value, onChange, ...common }: { label: string; value: unknown; onChange: (value: unknown) => void; error?: string }) {
  const [text, setText] = useState(isBlank(value) ? '' : JSON.stringify(value, null, 2));
  return (
    <JsonInput
      {...common}
      value={text}
      autosize
      minRows={2}
      formatOnBlur
      validationError={t('common.mistake.json')}
      onChange={(next) => {
        setText(next);
        if (next.trim() === '') onChange(undefined);
        else {
          try {
            onChange(JSON.parse(next));
          } catch {
            // The field shows that it is not JSON; the last value stays.
          }
        }
      }}
    />
  );
}
