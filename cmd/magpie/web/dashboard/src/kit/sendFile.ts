import { stringifyDocument } from '@urql/core';
import { accessToken, RequestError } from '../session/session';
import { UploadFilesDocument } from './upload.gql';
import type { Send, UploadItem } from './uploads';

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: string; requestId?: string } }[];
  error?: { code?: string; message: string };
}

// sendTo sends files to a connector by the GraphQL multipart request, and once more if the token was refused. Not by fetch,
// which does not tell how far a request is.
export function sendTo(connectorId: string): Send {
  return (item, onSent) => {
    let request: XMLHttpRequest | null = null;
    let aborted = false;
    const attempt = (token: string | null) => {
      if (aborted) throw new Error('aborted');
      request = new XMLHttpRequest();
      return post(request, formOf(connectorId, item), token, onSent);
    };
    const send = async () => {
      const token = await accessToken();
      try {
        await attempt(token);
      } catch (error) {
        if (!(error instanceof RequestError) || error.status !== 401 || token === null) throw error;
        onSent(0);
        await attempt(await accessToken(token));
      }
    };
    return {
      finished: send(),
      abort: () => {
        aborted = true;
        request?.abort();
      },
    };
  };
}

function formOf(connectorId: string, item: UploadItem): FormData {
  const form = new FormData();
  const variables = { connectorId, files: [null], paths: [item.path] };
  form.append('operations', JSON.stringify({ query: stringifyDocument(UploadFilesDocument), variables }));
  form.append('map', JSON.stringify({ 0: ['variables.files.0'] }));
  form.append('0', item.file, item.file.name);
  return form;
}

function post(request: XMLHttpRequest, form: FormData, token: string | null, onSent: (bytes: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    request.open('POST', '/graphql');
    request.setRequestHeader('Authorization', `Bearer ${token ?? ''}`);
    request.setRequestHeader('Accept', 'application/json');
    request.responseType = 'json';
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onload = () => {
      const problem = problemIn(request);
      if (problem) reject(problem);
      else resolve();
    };
    request.onerror = () => reject(new RequestError(0, 'offline', '', null, null));
    request.onabort = () => reject(new Error('aborted'));
    request.send(form);
  });
}

// problemIn returns what an answer says against the upload, with the id of the request.
function problemIn(request: XMLHttpRequest): RequestError | null {
  const answer = request.response as Answer | null;
  const first = answer?.errors?.[0];
  if (!first && !answer?.error && request.status < 400 && answer?.data) return null;
  return new RequestError(
    request.status,
    first?.extensions?.code ?? answer?.error?.code ?? 'internal',
    first?.message ?? answer?.error?.message ?? request.statusText,
    first?.extensions?.requestId ?? request.getResponseHeader('X-Request-Id'),
    null,
  );
}
