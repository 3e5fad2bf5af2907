"""What is seeded: the same bytes for the same seed, on every machine and in every year."""

from __future__ import annotations

import hashlib

from lab.system.databases import rows


def test_a_seed_gives_the_same_users_always():
    """The sums of the default users, written down once: who changes the data has to say so here."""
    assert rows.sums(rows.users()) == (100_000, 214394380772693, 1039097925)
    assert rows.users() == rows.users.__wrapped__()
    assert rows.users(2, 100) != rows.users(1, 100) == rows.users()[:100]


def test_a_seed_gives_the_same_document_always():
    """The document has the published length and looks random: no two of its kilobytes are the same."""
    text = rows.document()
    assert len(text) == rows.DOCUMENT_LENGTH == 1_019_684
    assert text.isascii()
    assert hashlib.sha256(text.encode()).hexdigest() == DOCUMENT_SHA256
    assert rows.document(2) != text
    pieces = {text[at : at + 1000] for at in range(0, len(text), 1000)}
    assert len(pieces) == 1020


def test_every_user_has_an_email_of_their_own():
    """Emails differ, also when case is ignored, and come in the order of the primary key."""
    emails = [user.email for user in rows.users()]
    assert len({email.lower() for email in emails}) == rows.USERS
    assert emails == sorted(emails)


def test_names_are_not_all_ascii():
    """A service that gets a character set wrong is found out."""
    assert any(not user.last.isascii() for user in rows.users(count=100))


def test_sums_see_a_row_that_is_missing_changed_or_doubled():
    """Neither the order of rows matters, nor does any change go unseen."""
    people = rows.users(count=1000)
    whole = rows.sums(people)
    assert rows.sums(reversed(people)) == whole
    assert rows.sums(people[:-1]) != whole
    assert rows.sums([*people[:-1], people[0]]) != whole
    assert rows.sums([*people[:-1], people[-1]._replace(age=people[-1].age + 1)]) != whole


DOCUMENT_SHA256 = "42656627f0b091c444dca9b51c0d640c9566e7f4c7a9a31eeb2d3c5b51f90d9a"
