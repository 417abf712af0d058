"""What looks like a live credential is found however it is written, and what only talks of secrets is not."""

from __future__ import annotations

import pytest

from coldpress.engine.credentials import holds_secret

# Credentials are put together here so that no scanner takes this file for a leak.
WORD = "q8Zr2vLmT0"
LONG = "q8Zr2vLmT0w4Yb6Nc1Xd"
HEX = "9f8e7d6c5b4a3928" + "1706f5e4d3c2b1a0"
AWS = "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYzQ8PLEKEYx"

LIVE = {
    "an address with a password": f"DATABASE_URL=postgres://admin:{WORD}@db.internal:5432/prod",
    "an address with a password, in a sentence": f"It is mongodb+srv://root:{WORD}@cluster0.example.net, so use it.",
    "an address to fetch from": f"git clone https://deploy:{WORD}@git.example.org/x.git",
    "a short password in an address": "postgres://user:pw@host/db",
    "JSON": f'{{"user": "bob", "password": "{WORD}"}}',
    "JSON in JSON": f'"{{\\"api_key\\": \\"{LONG}\\"}}"',
    "YAML": f"  password: {WORD}",
    "YAML in capitals": f"PASSWORD: {WORD}",
    "an env file in small letters": f"export db_password={WORD}",
    "an assignment with spaces": f"DB_PASSWORD = {WORD}",
    "an added line of a diff": f"+export STRIPE_SECRET_KEY={LONG}",
    "a name that goes on": f"SECRET_KEY_BASE={HEX}",
    "a key of digits and letters": f"api_key: {HEX}",
    "code": f"os.environ['API_TOKEN']='{LONG}'",
    "an argument": f'connect(password="{WORD}", port=5432)',
    "a pair of arguments": f'setenv("API_TOKEN", "{LONG}")',
    "a sentence": f"The password is {WORD}.",
    "a sentence that assigns": f"I must never use db_password={WORD} because it is the production one.",
    "XML": f"<password>{WORD}</password>",
    "a client's secret": f'"client_secret": "{LONG}"',
    "a key of a session": f'"session_key": "{LONG}"',
    "a header": f"X-Api-Key: {LONG}",
    "basic authorization": "Authorization: Basic " + "dXNlcjpwYXNzd29yZDEyMw==",
    "bearer authorization": f"Authorization: Bearer {LONG}{LONG}",
    "an AWS secret": f"aws_secret_access_key = {AWS}",
    "an AWS key id": "id " + "AKIA" + "Q4ZR2VLMT0W4YB6N",
    "an Azure key": "AccountName=x;AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2U==;",
    "a Google client's secret": "GOCSPX-" + f"{LONG}",
    "a Stripe key": "rk_live_" + LONG,
    "another Stripe key": "sk_live_" + LONG,
    "a Slack hook": "https://hooks.slack.com/services/" + "T0AB12/B0AB34/abcdefghijklmnopqrstuvwx",
    "a Slack token": "xoxb-" + "1234567890-abcdefghij",
    "a JSON Web Token": "eyJhbGciOi." + "eyJzdWIiOiIx." + "a" * 25,
    "a private key": "-----BEGIN " + "EC PRIVATE KEY-----",
    "a PGP key": "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----",
    "netrc": f"machine x.example login bob password {WORD}",
    "a user on a command line": f"curl -u admin:{WORD} https://x.example",
    "a short name in an env file": f"DB_PASS={WORD}",
    "a short name, quoted": f"export SMTP_PASS='{WORD}'",
    "a short name in a command": f"docker run -e DB_PASS={WORD} image",
    "a short name of words": "DB_PASS=" + "correct-horse-battery",
    "a cookie": f"Cookie: session={LONG}",
    "a cookie behind another": f"cookie: theme=dark; lang=en; sid={LONG}",
    "a cookie that is set": f"< Set-Cookie: session={HEX}; Path=/; HttpOnly",
    "a cookie in JSON": f'{{"Cookie": "session={LONG}"}}',
    "a cookie on a command line": f"curl --cookie 'sid={LONG}' https://x.example",
    "words in quotation marks": 'password: "' + 'correct-horse"',
    "words given to a function": "login(password='" + "correct-horse-battery')",
    "a line of a settings file": "passwd " + "hunter2",
    "a line of a settings file, found by a search": "etc/app.conf:3:passwd " + "hunter2",
    "a password of mysql": "mysql -u root -p" + "S3cretPass",
    "a password of mysqldump": "mysqldump --host db -uroot -p'" + "hunter2' app",
    "a password of mariadb": "mariadb -p" + f"{WORD} app",
    "an option": f"tool login --token {LONG}",
}

DEAD = {
    "a count": "max_tokens: 4096",
    "counts": 'usage: {"input_tokens": 12345678, "output_tokens": 10}',
    "a budget": "token budget: 40000 tokens",
    "a game": "secret santa on 2026-12-24",
    "a commit": "commit 9f2c1ab0c1d2e3f40c1d2e3f40c1d2e3f40c1d2e",
    "a checksum": f"sha256:{HEX}{HEX}",
    "a UUID": "id 123e4567-e89b-12d3-a456-426614174000",
    "a stand-in in brackets": "api_key: <API_KEY>",
    "a variable": "password: ${DB_PASSWORD}",
    "a variable of a template": "csrf_token: {{ csrf1token }}",
    "a mask": "password=***",
    "a longer mask": "token: sk-********",
    "crosses": "api_key = sk-xxxxxxxxxxxx",
    "a word of a manual": "postgres://user:password@localhost/db",
    "a bracket in an address": "https://user:<pw1234>@host/",
    "a port and an at": "http://localhost:8080/a@b",
    "code that reads one": "token = parser.next_token2",
    "code that fetches one": "const token = await getToken2(request)",
    "code that looks one up": "api_key=os.environ['KEY1234']",
    "a type": "password: Optional[str1234] = None",
    "a name in another": "secret_name: prod-db-2026x",
    "a path": "private_key: ./keys/id_rsa2.pem",
    "how one is hashed": "password_hash: sha256$abcd1234abcd",
    "a tokenizer": "tokenizer: cl100k_base",
    "a kind": "token_type: bearer12345",
    "when one ends": "token: 2026-11-30T10:00:00Z",
    "a sentence": "The token is refreshed every 15 minutes, and the secret is well-kept2.",
    "a fetch": "credentials: 'same-origin'",
    "a test's name": "tests/test_api_key_2.py::test_password_3 PASSED",
    "a place in code": "src/auth/token.py:120:4 error2 here",
    "a user's name": "getent passwd deploy2",
    "the user to change": "sudo passwd deploy2",
    "a file of users": "cat /etc/passwd file2x",
    "an entry of nsswitch": "passwd: files systemd2",
    "a pass that is a word": "BYPASS=compiler2x",
    "a variable for a pass": "DB_PASS=${DB_PASS_2}",
    "a stand-in for a pass": "DB_PASS=changeme123",
    "cookies that tell nothing": "Cookie: theme=dark; lang=en",
    "a cookie of a manual": "Set-Cookie: sessionId=<value>; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/",
    "what a cookie is for": "Set-Cookie: a=b; Domain=static01.example2.com; Path=/app/v2/long/path2",
    "code that sets a cookie": "res.cookie = serialize('sid', sessionId2, { path })",
    "code that reads a cookie": "cookie: sid=request.cookies.session_2",
    "a type of a cookie": "cookie: str = Depends(cookie_scheme2)",
    "a field's kind": 'password: "current-password"',
    "a field's class": "password: 'form-control-large'",
    "a message's name": '"password": "invalid-length"',
    "a port of mysql": "docker run --name mysql -p3306:3306 mysql:8",
    "a database of mysql": "mysql -u root -p app_db2",
    "a variable given to mysql": 'mysql -u root -p"$DB_PASSWORD1" app',
    "a mask given to mysql": "mysql -u root -p<password1>",
    "another program's option": "make -pS3cretPass # no client of a database",
    "a user by number": "docker run -u 1000:1000 image",
    "a branch": "git push -u origin:feature1",
    "a public key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ",
}


@pytest.mark.parametrize("text", LIVE.values(), ids=LIVE)
def test_a_live_credential(text: str) -> None:
    assert holds_secret(text)
    assert holds_secret(f"line\n{text}\nline")


@pytest.mark.parametrize("text", DEAD.values(), ids=DEAD)
def test_no_credential(text: str) -> None:
    assert not holds_secret(text)
    assert not holds_secret(f"line\n{text}\nline")
