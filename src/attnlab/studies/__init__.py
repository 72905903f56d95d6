"""One folder a paper. `PAPERS` lists the four of the mission, built or not yet."""

PAPERS = {
    "linear": (
        "Linear transformers as in-context learners",
        "Vladymyrov, von Oswald, Sandler, Ge, “Linear Transformers are Versatile In-Context "
        "Learners”, NeurIPS 2024, arXiv:2402.14180",
    ),
    "random": (
        "Random transformers and their equivalent polynomial models",
        "Demir, Dogan, “Asymptotic Study of In-Context Learning with Random Transformers through "
        "Equivalent Models”, 2025, arXiv:2509.15152",
    ),
    "separation": (
        "What softmax attention separates and linear attention cannot",
        "Deng, Song, Zhou, “Superiority of Softmax: Unveiling the Performance Edge over Linear "
        "Attention”, arXiv:2310.11685",
    ),
    "rank": (
        "Rank against number of heads",
        "Amsel, Yehudai, Bruna, “On the Benefits of Rank in Attention Layers”, 2024, "
        "arXiv:2407.16153",
    ),
}
