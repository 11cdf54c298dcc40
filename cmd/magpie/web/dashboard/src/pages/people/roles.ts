// What the roles of a workspace allow about each other (docs/roles.md).
import type { Role } from '../../gql/schema';
import { includes } from '../../session/Me';

export const roles: Role[] = ['VIEWER', 'EDITOR', 'ADMIN', 'OWNER'];

// mayManage reports whether a person with a role may change, remove or make a password link for one with another.
export function mayManage(mine: Role, theirs: Role): boolean {
  return mine === 'OWNER' || (mine === 'ADMIN' && !includes(theirs, 'ADMIN'));
}

// grantable returns the roles that a person may give to others.
export function grantable(mine: Role): Role[] {
  return mine === 'OWNER' || mine === 'ADMIN' ? roles.filter((role) => includes(mine, role)) : [];
}

// choices returns the roles that a person may give to a member; of themselves, only lower ones.
export function choices(mine: Role, theirs: Role, isSelf: boolean): Role[] {
  if (isSelf) return includes(mine, 'ADMIN') ? roles.filter((role) => includes(mine, role)) : [];
  return mayManage(mine, theirs) ? grantable(mine) : [];
}
