"""What is known of the forms of cards, account numbers and addresses, and what of them stands in every manual."""

from __future__ import annotations

from typing import Final

IBAN_LENGTHS: Final = {
    **{"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29},
    **{"BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29},
    **{"ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28},
    **{"HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20},
    **{"LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22},
    **{"MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25},
    **{"QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25},
    **{"SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20},
}
"""Characters of an account number by country: the IBAN registry of SWIFT."""

CARD_RANGES: Final = (
    (16, ((4, 4), (51, 55), (2221, 2720), (6011, 6011), (644, 659), (3528, 3589), (62, 62))),
    (15, ((34, 34), (37, 37))),
    (14, ((300, 305), (36, 36), (38, 39))),
)
"""Digits of a card's number and how it begins, from and to: ISO/IEC 7812 as the issuers publish it. Visa's rare numbers
of 13 and 19 digits are left out, since most numbers of that length are times and ids."""

NO_TOP_LEVEL: Final = frozenset(
    {
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "pdf", "js", "mjs", "ts", "jsx", "tsx", "css", "scss"),
        *("html", "json", "xml", "yml", "yaml", "toml", "txt", "csv", "log", "lock", "gz", "vue", "java", "class"),
    }
)
"""Ends of file names, as in `icon@2x.png`, that no e-mail address ends with."""

ALLOWED: Final = (
    *("*@example.com", "*@example.org", "*@example.net", "*@example.edu", "*.example", "*.test", "*.invalid"),
    *("*@*.example.com", "*@*.example.org", "*@*.example.net", "*@localhost*", "*@domain.com", "*@email.com"),
    *("git@*", "hg@*", "svn@*", "noreply@*", "no-reply@*", "donotreply@*", "*@users.noreply.github.com"),
    *("4111111111111111", "4242424242424242", "4012888888881881", "4000056655665556", "5555555555554444"),
    *("5105105105105100", "2223003122003222", "378282246310005", "371449635398431", "6011111111111117"),
    *("6011000990139424", "30569309025904", "38520000023237", "3530111333300000", "3566002020360505"),
    *("DE89370400440532013000", "GB82WEST12345698765432", "GB29NWBK60161331926819", "FR1420041010050500013M02606"),
    *("NL91ABNA0417164300", "CH9300762011623852957", "AT611904300234573201", "BE68539007547034"),
    *("ES9121000418450200051332", "+1???5550???", "+1??????01??", "+123456789*"),
)
"""Addresses, cards and accounts of manuals and test suites, and names that stand for no person. Patterns as in a shell,
over the text in small letters and, but for e-mail addresses and secrets, without what stands between its digits."""
