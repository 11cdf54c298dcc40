import {
  ActionIcon,
  ColorInput,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { CollectionField } from './CollectionsField';
import { filterNames, isAddress, isColor, labelNames, languages, modes, themes, type WidgetSettings } from './widgetSettings';

interface Props {
  settings: WidgetSettings;
  onChange: (settings: WidgetSettings) => void;
}

// WidgetForm has what the attributes of the widget's script element set.
export function WidgetForm({ settings, onChange }: Props) {
  const set = (change: WidgetSettings) => onChange({ ...settings, ...change });
  return (
    <Stack>
      <Fieldset legend={t('people.widget.what')}>
        <Stack gap="sm">
          <Choice
            label={t('people.widget.mode')}
            name="mode"
            values={modes}
            value={settings.mode ?? 'both'}
            onChange={(mode) => set({ mode })}
          />
          <CollectionField
            label={t('people.widget.collection')}
            description={t('people.widget.collectionHelp')}
            placeholder={t('people.keys.defaultCollection')}
            value={settings.collection ?? null}
            onChange={(id) => set({ collection: id ?? undefined })}
          />
          <Named
            prefix="filter"
            names={filterNames}
            add={t('people.widget.addFilter')}
            maxLength={200}
            values={settings.filters ?? {}}
            onChange={(filters) => set({ filters })}
          />
          <TextInput
            label={t('people.widget.versions')}
            description={t('people.widget.versionsHelp')}
            placeholder="2.0, 1.9"
            maxLength={400}
            value={settings.versions ?? ''}
            onChange={(event) => set({ versions: event.currentTarget.value || undefined })}
          />
          <NumberInput
            label={t('people.widget.minScore')}
            description={t('people.widget.minScoreHelp')}
            placeholder="0.5"
            min={0}
            max={1}
            step={0.05}
            decimalScale={2}
            value={settings.minScore ?? ''}
            onChange={(value) => set({ minScore: value === '' ? undefined : Number(value) })}
          />
        </Stack>
      </Fieldset>
      <Fieldset legend={t('people.widget.look')}>
        <Stack gap="sm">
          <Choice
            label={t('people.widget.theme')}
            help={t('people.widget.themeHelp')}
            name="theme"
            values={themes}
            value={settings.theme ?? 'auto'}
            onChange={(theme) => set({ theme })}
          />
          <ColorInput
            label={t('people.widget.accent')}
            description={t('people.widget.accentHelp')}
            placeholder="#2f5fd7"
            format="hex"
            withEyeDropper={false}
            value={settings.accent ?? ''}
            onChange={(accent) => set({ accent: accent || undefined })}
            error={settings.accent && !isColor(settings.accent) ? t('people.widget.accentBad') : undefined}
          />
          <Switch
            label={t('people.widget.button')}
            description={t('people.widget.buttonHelp')}
            checked={settings.button !== false}
            onChange={(event) => set({ button: event.currentTarget.checked ? undefined : false })}
          />
          <TextInput
            label={t('people.widget.hotkey')}
            description={t('people.widget.hotkeyHelp')}
            placeholder="mod+k"
            value={settings.hotkey === '' ? 'none' : (settings.hotkey ?? '')}
            onChange={(event) => set({ hotkey: event.currentTarget.value || undefined })}
          />
          <TextInput
            label={t('people.widget.name')}
            description={t('people.widget.nameHelp')}
            maxLength={200}
            value={settings.name ?? ''}
            onChange={(event) => set({ name: event.currentTarget.value || undefined })}
          />
          <TextInput
            label={t('people.widget.baseUrl')}
            description={t('people.widget.baseUrlHelp')}
            placeholder={window.location.origin}
            value={settings.baseUrl ?? ''}
            onChange={(event) => set({ baseUrl: event.currentTarget.value || undefined })}
            error={settings.baseUrl && !isAddress(settings.baseUrl) ? t('people.widget.baseUrlBad') : undefined}
          />
        </Stack>
      </Fieldset>
      <Fieldset legend={t('people.widget.texts')}>
        <Stack gap="sm">
          <Select
            label={t('common.language')}
            description={t('people.widget.langHelp')}
            placeholder={t('people.widget.langPage')}
            data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
            value={settings.lang ?? null}
            onChange={(lang) => set({ lang: lang ?? undefined })}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
          />
          <TextInput
            label={t('people.widget.title')}
            description={t('people.widget.titleHelp')}
            maxLength={200}
            value={settings.title ?? ''}
            onChange={(event) => set({ title: event.currentTarget.value || undefined })}
          />
          <TextInput
            label={t('people.widget.placeholder')}
            description={t('people.widget.placeholderHelp')}
            maxLength={200}
            value={settings.placeholder ?? ''}
            onChange={(event) => set({ placeholder: event.currentTarget.value || undefined })}
          />
          <Named
            prefix="label"
            names={labelNames}
            add={t('people.widget.addLabel')}
            maxLength={400}
            values={settings.labels ?? {}}
            onChange={(labels) => set({ labels })}
          />
        </Stack>
      </Fieldset>
    </Stack>
  );
}

interface ChoiceProps<V extends string> {
  label: string;
  help?: string;
  name: 'mode' | 'theme';
  values: readonly V[];
  value: V;
  onChange: (value: V) => void;
}

function Choice<V extends 'both' | 'search' | 'chat' | 'auto' | 'light' | 'dark'>({
  label,
  help,
  name,
  values,
  value,
  onChange,
}: ChoiceProps<V>) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4} id={`widget-${name}`}>
        {label}
      </Text>
      {help && (
        <Text size="xs" c="dimmed" mb={4}>
          {help}
        </Text>
      )}
      <SegmentedControl
        aria-labelledby={`widget-${name}`}
        data={values.map((one) => ({ value: one, label: t(`people.widget.${name}.${one}` as 'people.widget.mode.both') }))}
        value={value}
        onChange={(next) => onChange(next as V)}
      />
    </div>
  );
}

interface NamedProps<N extends string> {
  prefix: 'filter' | 'label';
  names: readonly N[];
  add: string;
  maxLength: number;
  values: Partial<Record<N, string>>;
  onChange: (values: Partial<Record<N, string>>) => void;
}

// Named has a field for each name that is used, and a list of the others.
function Named<N extends string>({ prefix, names, add, maxLength, values, onChange }: NamedProps<N>) {
  const label = (name: N) => t(`people.widget.${prefix}.${name}` as 'people.widget.label.open');
  const without = (name: N) => Object.fromEntries(Object.entries(values).filter(([other]) => other !== name)) as Partial<Record<N, string>>;
  return (
    <>
      {names
        .filter((name) => values[name] !== undefined)
        .map((name) => (
          <Group key={name} align="flex-end" gap={4} wrap="nowrap">
            <TextInput
              flex={1}
              label={label(name)}
              maxLength={maxLength}
              value={values[name]}
              onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={`${t('common.remove')}: ${label(name)}`}
              onClick={() => onChange(without(name))}
            >
              <Icon name="close" size={16} />
            </ActionIcon>
          </Group>
        ))}
      <Select
        label={add}
        searchable
        placeholder={t('common.choose')}
        data={names.filter((name) => values[name] === undefined).map((name) => ({ value: name, label: label(name) }))}
        value={null}
        onChange={(name) => name && onChange({ ...values, [name]: '' })}
      />
    </>
  );
}
