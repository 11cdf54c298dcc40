// The keys of all messages: those of the English files.
import type access from '../messages/access.en.json';
import type agents from '../messages/agents.en.json';
import type collections from '../messages/collections.en.json';
import type common from '../messages/common.en.json';
import type connectors from '../messages/connectors.en.json';
import type insights from '../messages/insights.en.json';
import type people from '../messages/people.en.json';
import type search from '../messages/search.en.json';
import type tools from '../messages/tools.en.json';
import type upload from '../messages/upload.en.json';
import type workspace from '../messages/workspace.en.json';

export type Keys =
  | keyof typeof access
  | keyof typeof agents
  | keyof typeof collections
  | keyof typeof common
  | keyof typeof connectors
  | keyof typeof insights
  | keyof typeof people
  | keyof typeof search
  | keyof typeof tools
  | keyof typeof upload
  | keyof typeof workspace;
