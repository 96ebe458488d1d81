// A certified OpenID Connect provider on loopback, for tests: node openid_provider.mjs SETTINGS, where SETTINGS is JSON with
// module (its file), client, secret, redirect and people ({name: claims}). It prints its address once it can be asked.

import { createServer } from "node:http";

const { module, client, secret, redirect, people } = JSON.parse(process.argv[2]);
const { default: Provider } = await import(module);

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client,
        client_secret: secret,
        redirect_uris: [redirect], // any port of loopback, as for a program on the same machine
        application_type: "native",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"], groups: ["groups"] },
    cookies: { keys: ["only for a test"] },
    pkce: { required: () => true },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
