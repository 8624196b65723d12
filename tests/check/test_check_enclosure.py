"""The checker of enclosures accepts what was proved and nothing else."""

import copy
import json
from fractions import Fraction

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.check import digest
from qtheory.check.enclosure import check_enclosure, claim
from qtheory.drift import enclose
from qtheory.errors import CertificateError
from qtheory.systems import shorter_queue as sq

n = sp.Symbol("n", integer=True, nonnegative=True)


@pytest.fixture(scope="module")
def shorter_queue():
    found = enclose(sq.model(), 2 * sq.m + sq.d, {"lam": 1, "mu": 1, "p": "1/2"}, digits=12)
    return json.loads(json.dumps(found.certificate))


@pytest.fixture(scope="module")
def coin():
    model = Model(
        n, Domain(), [Transition("1/3", +1), Transition("1/2", -1, when=n >= 1)], time="discrete"
    )
    cost = sp.Piecewise((n, n >= 2), (0, True))
    return json.loads(json.dumps(enclose(model, cost, digits=12).certificate))


def signed(certificate):
    """The certificate with the claim and the digest that belong to its other fields."""
    certificate["claim"] = claim(certificate)
    certificate["digest"] = digest(certificate)
    return certificate


def places(value, path=()):
    """The paths to everything in a certificate, one entry for each long list."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key)
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1}) if value else ():
            yield (*path, i)
            yield from places(value[i], (*path, i))


def changed(certificate, path, value):
    altered = copy.deepcopy(certificate)
    part = altered
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value(part[path[-1]]) if callable(value) else value
    return altered


def test_the_claim_is_returned(shorter_queue, coin):
    stated = check_enclosure(shorter_queue)
    assert stated.startswith("E[d + 2*m] in [1.5965607893543")
    assert stated.endswith("at lam = 1, mu = 1, p = 1/2")
    assert check_enclosure(coin).startswith("E[0 if n <= 1; n otherwise] in [1.7777777777777")


def test_every_altered_field_is_noticed_by_the_digest(shorter_queue):
    for path in places(shorter_queue):
        for value in (None, 3, "x", []):
            altered = changed(shorter_queue, path, value)
            if altered != shorter_queue:
                with pytest.raises(CertificateError):
                    check_enclosure(altered)


def test_every_field_is_needed(coin):
    for path in places(coin):
        if isinstance(path[-1], str) and path[-1] not in ("name", "digest"):
            altered = copy.deepcopy(coin)
            part = altered
            for key in path[:-1]:
                part = part[key]
            del part[path[-1]]
            with pytest.raises(CertificateError):
                check_enclosure({**altered, "digest": digest(altered)})


def test_malformed_fields_are_refused_with_a_digest_of_their_own(coin):
    for path in places(coin):
        # the name is free, the claim and the digest follow from the other fields
        if path[-1] in ("name", "claim", "digest"):
            continue
        for value in ("x", -1.5, [], {}, True, "1e5", "nan", 10**30):
            altered = changed(coin, path, value)
            if altered == coin:
                continue
            try:
                altered = signed(altered)
            except Exception:
                altered["digest"] = digest(altered)
            with pytest.raises(CertificateError):
                check_enclosure(altered)


def shifted(step):
    return lambda text: str(Fraction(text) + Fraction(step))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("lower",), "1.5966"),
        (("lower",), "1.596560789354342"),
        (("upper",), "1.5965"),
        (("upper",), "1.59656078935434"),
        (("gain",), lambda g: g + (g >> 30)),
        (("scale",), lambda s: s + 1),
        (("scale",), -1),
        (("scale",), 10**9),
        (("window",), lambda w: w - 20),
        (("window",), lambda w: w + 20),
        (("window",), 10**9),
        (("values", 0), lambda v: v + 2**40),
        (("values", 7), lambda v: v - 2**40),
        (("values", -1), lambda v: v + 2**400),
        (("values",), lambda v: v[:-1]),
        (("values",), lambda v: [*v, 0]),
        (("at", "p"), "2/5"),
        (("at", "lam"), "3"),
        (("at", "mu"), "-1"),
        (("at",), lambda at: {**at, "d": "1"}),
        (("model", "transitions", 0, "rate"), "2*lam"),
        (("model", "transitions", 2, "rate"), "lam"),
        (("model", "transitions", 2, "rate"), "lam*m"),
        (("model", "transitions", 2, "rate"), "-lam"),
        (("model", "transitions", 2, "rate"), "1/m"),
        (("model", "transitions", 2, "rate"), "theta"),
        (("model", "transitions", 2, "jump"), [1, 0]),
        (("model", "transitions", 4, "jump"), [0, -2]),
        (("model", "transitions", 4, "from"), [[0, None], [0, None]]),
        (("model", "transitions", 4, "from"), [[0, None], [-1, None]]),
        (("model", "transitions", 4, "from"), [[0, None], [3, 2]]),
        (("model", "transitions"), lambda t: t[:-1]),
        (("model", "transitions"), []),
        (("model", "ranges", 0), [None, None]),
        (("model", "ranges", 0), [0, 50]),
        (("model", "state"), ["m", "m"]),
        (("model", "state"), ["m"]),
        (("model", "time"), "discrete"),
        (("model", "time"), "other"),
        (("cost", 0, "value"), "2*m + 2*d"),
        (("cost", 0, "value"), "2*m + d + 1/10^9"),
        (("cost", 0, "value"), "m/d"),
        (("cost", 0, "on"), [[0, None], [0, 9]]),
        (("cost", 0, "on"), [[0, None]]),
        (("cost",), []),
        (("moment", "base"), "1"),
        (("moment", "base"), "1/2"),
        (("moment", "base"), shifted("1/10")),
        (("moment", "bound"), "1"),
        (("moment", "bound"), lambda b: str(Fraction(b) - 2)),
        (("moment", "weights", 0, 1), 0),
        (("moment", "weights", 0, 1), -3),
        (("moment", "weights", 0, 1), lambda w: 3 * w),
        (("moment", "weights", 0), [0]),
        (("moment", "values", 0), "-1"),
        (("moment", "values"), lambda v: ["0"] * len(v)),
        (("moment", "values"), lambda v: ["1"] * len(v)),
        (("moment", "values"), lambda v: v[1:]),
        (("moment", "high", 0), lambda h: h + 1),
        (("moment", "low", 0), lambda h: h - 1),
        (("moment", "high", 0), 10**8),
        (("verdict",), "refuted"),
        (("kind",), "drift"),
        (("format",), "another"),
    ],
)
def test_what_is_not_proved_is_rejected_whatever_the_digest(shorter_queue, path, value):
    altered = changed(shorter_queue, path, value)
    assert altered != shorter_queue
    try:
        altered = signed(altered)
    except Exception:
        altered["digest"] = digest(altered)
    with pytest.raises(CertificateError, match="certificate rejected: "):
        check_enclosure(altered)


def test_a_claim_in_other_words_is_rejected(shorter_queue):
    altered = changed(shorter_queue, ("claim",), "E[d + 2*m] in [1, 1.1]")
    with pytest.raises(CertificateError, match="claim is not what is stated"):
        check_enclosure({**altered, "digest": digest(altered)})


def test_a_wider_interval_is_proved_too(shorter_queue):
    wider = signed(changed(changed(shorter_queue, ("lower",), "3/2"), ("upper",), "1.6"))
    assert check_enclosure(wider) == "E[d + 2*m] in [3/2, 1.6] at lam = 1, mu = 1, p = 1/2"


def test_probabilities_must_not_exceed_one(coin):
    altered = signed(changed(coin, ("model", "transitions", 1, "rate"), "3/4"))
    with pytest.raises(CertificateError, match=r"probabilities at .* sum to"):
        check_enclosure(altered)


def handmade(ranges, transitions, window, gain, values, bound):
    """A certificate of E[n] = gain, with V = 0."""
    weights = [int(end is None) for end in ranges]
    return signed(
        {
            "format": "qtheory certificate 1",
            "kind": "enclosure",
            "verdict": "proved",
            "model": {
                "state": ["n"],
                "ranges": [ranges],
                "time": "continuous",
                "transitions": transitions,
            },
            "at": {},
            "cost": [{"on": [ranges], "value": "n"}],
            "moment": {
                "base": "2",
                "weights": [weights],
                "low": [0],
                "high": [0],
                "values": ["0"],
                "bound": bound,
            },
            "window": window,
            "scale": 0,
            "gain": gain,
            "values": values,
            "lower": str(gain),
            "upper": str(gain),
        }
    )


def test_a_window_on_a_finite_chain_need_not_be_all_of_it():
    moves = [
        {"rate": "1", "jump": [1], "from": [[0, 4]]},
        {"rate": "1", "jump": [-1], "from": [[1, 5]]},
    ]
    whole = handmade([0, 5], moves, 0, 0, [0, 0, 0, 0, 0, 0], "1")
    whole = signed({**whole, "lower": "0", "upper": "5"})
    assert check_enclosure(whole) == "E[n] in [0, 5]"
    forged = handmade([0, 5], moves, 0, 100, [-100], "64")
    forged["moment"]["weights"] = [[0, 1]]
    with pytest.raises(CertificateError, match="is not proved"):
        check_enclosure(signed(forged))
    forged = handmade([1, 5], moves[:0], 0, 100, [], "64")
    forged["moment"]["weights"] = [[0, 1]]
    with pytest.raises(CertificateError, match="is not proved"):
        check_enclosure(signed(forged))


@pytest.mark.parametrize("ranges", [[100, None], [None, -100]])
def test_some_state_is_tried_for_the_drift(ranges):
    gain = ranges[0] or ranges[1]
    with pytest.raises(CertificateError, match="drift"):
        check_enclosure(handmade(ranges, [], 100, gain, [0], "0"))


def test_names_are_names(shorter_queue):
    for path, value in [
        (("model", "state"), ["m", "d == 7] in [0, 0] or E[d"]),
        (("at",), lambda at: {**at, "nu = 2, x": "1"}),
    ]:
        with pytest.raises(CertificateError, match="not a name"):
            check_enclosure(signed(changed(shorter_queue, path, value)))


def test_no_certificate_at_all():
    for nothing in ({}, [], None, "x", {"format": "qtheory certificate 1"}):
        with pytest.raises(CertificateError):
            check_enclosure(nothing)


def test_an_unstable_chain_is_rejected_for_every_window():
    """The certificate of a stable queue does not carry over to an unstable one."""
    model = Model(n, Domain(), [Transition("1/2", +1), Transition(1, -1, when=n >= 1)])
    certificate = json.loads(json.dumps(enclose(model, n, digits=6).certificate))
    for rate in ("1", "5/4"):
        altered = signed(changed(certificate, ("model", "transitions", 0, "rate"), rate))
        with pytest.raises(CertificateError, match="drift"):
            check_enclosure(altered)
