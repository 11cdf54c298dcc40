import { Input, SegmentedControl, Select, useMantineColorScheme } from '@mantine/core';
import { useState } from 'react';
import type { PreferencesInput } from '../../gql/schema';
import { formatTime, languages, t } from '../../i18n';
import { useMe } from '../../session/Me';
import { themeOf, useSavePreferences } from '../../session/preferences';
import { Section } from './Section';

const browser = 'browser';
const browserZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

// Display has how the dashboard looks for the person, in every browser.
export function Display() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const save = useSavePreferences();
  const [now] = useState(Date.now);
  const { preferences } = useMe().user;
  const change = (changed: PreferencesInput) => void save(changed);
  return (
    <Section title={t('workspace.display')} about={t('workspace.displayAbout')}>
      <Input.Wrapper label={t('common.theme')} labelElement="div" labelProps={{ id: 'theme-label' }}>
        <SegmentedControl
          fullWidth
          mt={4}
          aria-labelledby="theme-label"
          value={colorScheme}
          onChange={(scheme) => {
            setColorScheme(scheme as typeof colorScheme);
            change({ theme: themeOf(scheme as typeof colorScheme) });
          }}
          data={(['light', 'dark', 'auto'] as const).map((value) => ({ value, label: t(`common.theme.${value}`) }))}
        />
      </Input.Wrapper>
      <Select
        label={t('common.language')}
        allowDeselect={false}
        value={preferences?.language ?? browser}
        onChange={(value) => change({ language: value === browser ? null : value })}
        data={[
          { value: browser, label: t('workspace.asBrowser') },
          ...Object.entries(languages).map(([value, label]) => ({ value, label })),
        ]}
      />
      <Select
        label={t('workspace.timeZone')}
        description={t('workspace.timeZoneAbout', { time: formatTime(now) })}
        searchable
        limit={60}
        allowDeselect={false}
        nothingFoundMessage={t('workspace.timeZoneNone')}
        value={preferences?.timeZone ?? browser}
        onChange={(value) => change({ timeZone: value === browser ? null : value })}
        data={[
          { value: browser, label: `${t('workspace.asBrowser')} (${browserZone})` },
          ...Intl.supportedValuesOf('timeZone').map((name) => ({ value: name, label: name.replaceAll('_', ' ') })),
        ]}
      />
    </Section>
  );
}
