// A server with ClickHouse's HTTP interface on 127.0.0.1 over the engine as a library, npm's chdb:
//   node chdb.mjs FOLDER-WITH-CHDB FOLDER-FOR-DATA
// It prints its port. A request's parameters are settings of a session that ends with it. Users are not checked.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [, , packages, data] = process.argv;
const { Session } = createRequire(join(packages, 'package.json'))('chdb');
const notSettings = ['user', 'password', 'database', 'query_id', 'default_format', 'wait_end_of_query', 'readonly'];

function answer(parameters, text) {
  if (text.includes('\0')) throw new Error('the library would end the statement at its zero byte');
  const session = new Session(data);
  try {
    if (parameters.get('database')) session.query(`USE ${parameters.get('database')}`);
    for (const [name, value] of parameters) {
      if (!notSettings.includes(name)) session.query(`SET ${name} = '${value}'`);
    }
    if (parameters.get('readonly')) session.query(`SET readonly = ${parameters.get('readonly')}`); // the last that it accepts
    return session.query(text, parameters.get('default_format') ?? 'TabSeparated');
  } finally {
    session.close();
  }
}

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    try {
      response.end(answer(new URL(request.url, 'http://127.0.0.1').searchParams, Buffer.concat(parts).toString()));
    } catch (error) {
      const code = /Code: (\d+)/.exec(error.message)?.[1] ?? '1002';
      response.writeHead(500, { 'X-ClickHouse-Exception-Code': code }).end(error.message);
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
