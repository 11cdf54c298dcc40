// How a person wants the dashboard to be shown. The service remembers it, and it is applied in each browser where they
// sign in; this browser keeps it for the time before the sign-in.
import { type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { useCallback, useEffect, useRef } from 'react';
import type { PreferencesInput, Theme } from '../gql/schema';
import { language, languages, setLanguage } from '../i18n';
import { setTimeZone } from '../i18n/zone';
import { useAction } from '../kit/useAction';
import { useMe } from './Me';
import { SavePreferencesDocument } from './preferences.gql';

const schemes: Record<Theme, MantineColorScheme> = { LIGHT: 'light', DARK: 'dark', SYSTEM: 'auto' };
const themes = { light: 'LIGHT', dark: 'DARK', auto: 'SYSTEM' } as Record<MantineColorScheme, Theme>;

export function themeOf(scheme: MantineColorScheme): Theme {
  return themes[scheme];
}

const known = (tag: string | null | undefined) => (Object.keys(languages) as (keyof typeof languages)[]).find((name) => name === tag);

// useSavePreferences returns a function that changes what is given, here and at the service.
export function useSavePreferences(): (change: PreferencesInput) => Promise<void> {
  const { setColorScheme } = useMantineColorScheme();
  const { run } = useAction(SavePreferencesDocument);
  return useCallback(
    async (change) => {
      if (change.theme) setColorScheme(schemes[change.theme]);
      if (change.timeZone !== undefined) setTimeZone(change.timeZone ?? null);
      await run({ preferences: change });
      if (change.language !== undefined) setLanguage(known(change.language) ?? null);
    },
    [run, setColorScheme],
  );
}

// ApplyPreferences shows the dashboard as the person wants it, once after the sign-in.
export function ApplyPreferences() {
  const { setColorScheme } = useMantineColorScheme();
  const applied = useRef(false);
  const { preferences } = useMe().user;
  useEffect(() => {
    if (!preferences || applied.current) return;
    applied.current = true;
    setColorScheme(schemes[preferences.theme]);
    if (preferences.timeZone) setTimeZone(preferences.timeZone);
    const wanted = known(preferences.language);
    if (wanted && wanted !== language) setLanguage(wanted);
  }, [preferences, setColorScheme]);
  return null;
}
