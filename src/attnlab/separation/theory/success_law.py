"""The probability that softmax separates D0 from D1 and linear attention does not.

E_success = { F_exp(D1) > 0, F_lin(D1) = 0, F_exp(D0) = 0, F_lin(D0) = 0 }, Section 7 of Deng, Song,
Zhou (arXiv 2310.11685). `success` takes the same problem and network as `simulate`, its Monte Carlo
in `attnlab.separation.simulation`, and both return an `Estimate`.
"""

from attnlab.errors import UserError
from attnlab.separation.models.threshold_network import AttentionNetwork, RegressionNetwork
from attnlab.separation.problem.attention import SpikedPair
from attnlab.separation.problem.regression import RegressionPair
from attnlab.separation.theory.attention_law import attention_law
from attnlab.separation.theory.one_neuron import NeuronLaw, success_from
from attnlab.separation.theory.two_level_law import two_level_law
from attnlab.stats.estimate import Estimate


def neuron_law(
    problem: SpikedPair | RegressionPair, network: AttentionNetwork | RegressionNetwork
) -> NeuronLaw:
    """The exact law of one neuron, from which success follows at every width."""
    match problem, network:
        case SpikedPair(), AttentionNetwork():
            return attention_law(problem, network)
        case RegressionPair(), RegressionNetwork():
            return two_level_law(problem, network)
    raise UserError(
        f"network must be an AttentionNetwork for attention pairs and a RegressionNetwork for "
        f"regression pairs, got {type(network).__name__} for {type(problem).__name__}."
    )


def success(
    problem: SpikedPair | RegressionPair, network: AttentionNetwork | RegressionNetwork
) -> Estimate:
    """The exact probability of E_success.

    E_success is the event that F_exp(D1) > 0 and F_lin(D1) = F_exp(D0) = F_lin(D0) = 0. It has the
    probability q^m - r^m, or a product of four where the networks draw their signs independently.
    Regression needs two-level data; `success_bounds` and `simulate` serve uniform data as well.
    """
    law = neuron_law(problem, network)
    return Estimate(success_from(law, network.width, network.shared_signs))
