r"""The small part of TeX that our texts use, as MathML, which browsers draw by themselves.

Letters, numbers, operators, Greek and the symbols of `SYMBOLS`, ^ and _, groups, \frac, \sqrt,
\text, \mathrm, \mathbb, \mathcal, \mathbf, \hat, \tilde, \bar, \left and \right, and \operatorname.
Anything else is the author's mistake and raises a ValueError that names it.
"""

from __future__ import annotations

import re
from html import escape

NUMBERS = r"\d+(?:[.,]\d+)*"
WORDS = r"\\(?:text|mathrm|operatorname|mathbb|mathcal|mathbf)\{[^{}]*\}"
TOKEN = re.compile(rf"\s*({WORDS}|\\frac\d\d|\\[A-Za-z]+|\\.|{NUMBERS}|.)", re.DOTALL)
NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
GREEK = {
    **dict(zip(NAMES.split(), "αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True)),
    **{"ell": "ℓ", "varepsilon": "ε", "varphi": "ϕ", "varrho": "ϱ"},
}
SYMBOLS = {
    "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "sim": "∼", "in": "∈", "times": "×",
    "cdot": "⋅", "to": "→", "infty": "∞", "pm": "±", "sum": "∑", "prod": "∏", "int": "∫",
    "partial": "∂", "nabla": "∇", "ldots": "…", "dots": "…", "langle": "⟨", "rangle": "⟩",
    "lVert": "‖", "rVert": "‖", "|": "‖", "mid": "∣", "circ": "∘", "top": "⊤", "forall": "∀",
    "exists": "∃", "ll": "≪", "gg": "≫", "propto": "∝", "equiv": "≡", "odot": "⊙", "neg": "¬",
    "subset": "⊂", "cup": "∪", "cap": "∩", "star": "⋆", "prime": "′", "mapsto": "↦", "{": "{",
    "}": "}", ",": "\u2009", ";": "\u2005", "quad": "\u2003", "qquad": "\u2003\u2003",
    "leftarrow": "←", "otimes": "⊗", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "lvert": "|", "rvert": "|",
}  # fmt: skip
FUNCTIONS = set("log ln exp max min sin cos arcsin arccos arg lim sup inf det tanh bmod Pr".split())  # noqa: SIM905
ACCENTS = {"hat": "^", "tilde": "~", "bar": "¯"}
FONTS = {"mathcal": "script", "mathbf": "bold"}
DOUBLE_STRUCK = {"R": "ℝ", "E": "𝔼", "P": "ℙ", "N": "ℕ", "S": "𝕊", "Z": "ℤ", "C": "ℂ"}


def mathml(tex: str, *, block: bool = False) -> str:
    """A formula as a MathML element."""
    tokens = TOKEN.findall(tex.strip())
    body, rest = _row(tokens, end=None)
    if rest:
        raise ValueError(f"{tex!r} has {rest[0]!r} where none belongs")
    display = ' display="block"' if block else ""
    return f"<math{display}>{body}</math>"


def _row(tokens: list[str], end: str | None) -> tuple[str, list[str]]:
    """The formula up to the token `end`, and what follows that."""
    parts = []
    while tokens and tokens[0] != end:
        if tokens[0] in ("}", "\\right"):
            return f"<mrow>{''.join(parts)}</mrow>", tokens
        function = tokens[0][1:] in FUNCTIONS
        part, tokens = _scripted(tokens)
        parts.append(part)
        if function and tokens and (tokens[0].isalnum() or tokens[0][1:] in GREEK):
            parts.append('<mspace width="0.17em"></mspace>')
    if end is not None:
        if not tokens:
            raise ValueError(f"{end!r} is missing")
        tokens = tokens[1:]
    return f"<mrow>{''.join(parts)}</mrow>", tokens


def _scripted(tokens: list[str]) -> tuple[str, list[str]]:
    """An atom with its sub- and superscripts."""
    base, tokens = _atom(tokens)
    scripts: dict[str, str] = {}
    while tokens and tokens[0] in "_^":
        which, tokens = tokens[0], tokens[1:]
        if not tokens or which in scripts:
            raise ValueError(f"{which!r} needs one script")
        scripts[which], tokens = _atom(tokens)
    if set(scripts) == {"_", "^"}:
        return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>", tokens
    if "_" in scripts:
        return f"<msub>{base}{scripts['_']}</msub>", tokens
    if "^" in scripts:
        return f"<msup>{base}{scripts['^']}</msup>", tokens
    return base, tokens


def _atom(tokens: list[str]) -> tuple[str, list[str]]:
    if not tokens:
        raise ValueError("an argument is missing")
    token, rest = tokens[0], tokens[1:]
    if token == "{":
        return _row(rest, "}")
    if token.startswith("\\"):
        return _command(token[1:], rest)
    if re.fullmatch(NUMBERS, token):
        return f"<mn>{token}</mn>", rest
    if token.isalpha():
        return f"<mi>{escape(token)}</mi>", rest
    if token == "-":
        return "<mo>−</mo>", rest
    if token == "'":
        return "<mo>′</mo>", rest
    return _fence(token), rest


def _fence(token: str) -> str:
    small = ' stretchy="false"' if token in "()[]|" else ""
    return f"<mo{small}>{escape(token)}</mo>"


def _command(name: str, tokens: list[str]) -> tuple[str, list[str]]:
    if name in GREEK:
        return f"<mi>{GREEK[name]}</mi>", tokens
    if name in SYMBOLS:
        sign = SYMBOLS[name]
        return (f"<mo>{sign}</mo>" if sign.strip() else _space(sign)), tokens
    if name in FUNCTIONS:
        return f"<mi>{name}</mi>", tokens
    if re.fullmatch(r"frac\d\d", name):
        return f"<mfrac><mn>{name[-2]}</mn><mn>{name[-1]}</mn></mfrac>", tokens
    if name == "frac":
        above, tokens = _atom(tokens)
        below, tokens = _atom(tokens)
        return f"<mfrac>{above}{below}</mfrac>", tokens
    if name == "sqrt":
        inside, tokens = _atom(tokens)
        return f"<msqrt>{inside}</msqrt>", tokens
    word, brace, given = name.partition("{")
    if brace:
        return _worded(word, given.removesuffix("}")), tokens
    if name in ACCENTS:
        inside, tokens = _atom(tokens)
        return f'<mover accent="true">{inside}<mo>{ACCENTS[name]}</mo></mover>', tokens
    if name == "left":
        return _stretched(tokens)
    raise ValueError(f"\\{name} is not among the commands that are rendered")


def _stretched(tokens: list[str]) -> tuple[str, list[str]]:
    left, tokens = _delimiter(tokens)
    inside, tokens = _row(tokens, "\\right")
    right, tokens = _delimiter(tokens)
    return f"<mrow><mo>{left}</mo>{inside}<mo>{right}</mo></mrow>", tokens


def _delimiter(tokens: list[str]) -> tuple[str, list[str]]:
    if not tokens:
        raise ValueError("a delimiter is missing")
    token = tokens[0]
    sign = SYMBOLS.get(token[1:], token[1:]) if token.startswith("\\") else token
    return "" if sign == "." else escape(sign), tokens[1:]


def _space(sign: str) -> str:
    return f"<mtext>{sign}</mtext>"


def _worded(command: str, words: str) -> str:
    if command == "mathbb":
        return f"<mi>{DOUBLE_STRUCK.get(words, escape(words))}</mi>"
    if command == "text":
        return f"<mtext>{escape(words)}</mtext>"
    if command in ("operatorname", "mathrm"):
        return f"<mi>{escape(words)}</mi>"
    return f'<mi class="{FONTS[command]}">{escape(words)}</mi>'
