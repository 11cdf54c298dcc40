// The pages of people who are not signed in, where connections by OAuth return to, and where the command line asks for a token.
import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { text } from '../../app/params';
import { rootRoute, shellRoute } from '../../app/root';
import { loadMessages, loadWords } from '../../i18n';
import { accessToken } from '../../session/session';
import { loadAccess, localPath } from './methods';

const sayings = ['left', 'deleted', 'everywhere'] as const;

interface SignInSearch {
  // The address to go to afterwards.
  next?: string;
  // What has just happened.
  said?: (typeof sayings)[number];
}

const messages = () => Promise.all([loadMessages('access'), loadWords('problems')]);

const withAccess = async () => {
  const [loaded] = await Promise.all([loadAccess(), messages()]);
  return loaded;
};

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): SignInSearch => ({
    next: text(search.next),
    said: sayings.find((known) => known === search.said),
  }),
  beforeLoad: async ({ search }) => {
    const token = await accessToken().catch(() => null);
    if (token !== null) throw redirect({ href: localPath(search.next) });
  },
  loader: withAccess,
  component: lazyRouteComponent(() => import('./SignIn'), 'SignIn'),
});

const signUp = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-up',
  loader: withAccess,
  component: lazyRouteComponent(() => import('./SignUp'), 'SignUp'),
});

const acceptInvitation = createRoute({
  getParentRoute: () => rootRoute,
  path: '/accept-invitation',
  loader: withAccess,
  component: lazyRouteComponent(() => import('./Invitation'), 'AcceptInvitation'),
});

const resetPassword = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  loader: messages,
  component: lazyRouteComponent(() => import('./ResetPassword'), 'ResetPassword'),
});

const oidc = createRoute({
  getParentRoute: () => rootRoute,
  path: '/oidc',
  loader: messages,
  component: lazyRouteComponent(() => import('./SignOnReturn'), 'SignOnReturn'),
});

const saml = createRoute({
  getParentRoute: () => rootRoute,
  path: '/saml',
  loader: messages,
  component: lazyRouteComponent(() => import('./SignOnReturn'), 'SignOnReturn'),
});

const oauthConfirm = createRoute({
  getParentRoute: () => shellRoute,
  path: '/oauth-confirm',
  loader: messages,
  component: lazyRouteComponent(() => import('./OAuthConfirm'), 'OAuthConfirm'),
});

const commandLine = createRoute({
  getParentRoute: () => shellRoute,
  path: '/command-line',
  loader: messages,
  component: lazyRouteComponent(() => import('./CommandLine'), 'CommandLine'),
});

interface OAuthSearch {
  oauth?: string;
  provider?: string;
  grant?: string;
  connector?: string;
  error?: string;
  error_description?: string;
  // The page that the person came from.
  back?: string;
}

const oauthDone = createRoute({
  getParentRoute: () => shellRoute,
  path: '/oauth-done',
  validateSearch: (search: Record<string, unknown>): OAuthSearch => ({
    oauth: text(search.oauth),
    provider: text(search.provider),
    grant: text(search.grant),
    connector: text(search.connector),
    error: text(search.error),
    error_description: text(search.error_description),
    back: text(search.back),
  }),
  loader: messages,
  component: lazyRouteComponent(() => import('./OAuthOutcome'), 'OAuthDone'),
});

export const accessRoutes = [signIn, signUp, acceptInvitation, resetPassword, oidc, saml] as const;

export const oauthRoutes = [oauthConfirm, oauthDone, commandLine] as const;
