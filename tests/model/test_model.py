"""The network: its numbers, its names, what it may look at, and what it refuses."""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tiny_gpt.config import ModelConfig
from tiny_gpt.model import CausalSelfAttention, TinyArithmeticGPT
from tiny_gpt.run import initial_model as new_initial_model
from tiny_gpt.tokenizer import CharacterTokenizer

# Values of the specification for `=` (ID 32) at position 4 of `1+1=2`, numbers 1 to 4 of 128.
EQUALS_TOKEN_ROW = ["0.018", "0.053", "0.032", "-0.024"]
EQUALS_POSITION_ROW = ["0.012", "0.010", "-0.013", "-0.011"]
EQUALS_SUM = ["0.029", "0.062", "0.019", "-0.035"]


def three_decimals(values: Tensor) -> list[str]:
    return [f"{value:.3f}" for value in values[:4].tolist()]


def random_ids(batch: int, positions: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 98, (batch, positions), generator=torch.Generator().manual_seed(seed))


def reference_logits(model: TinyArithmeticGPT, ids: list[int]) -> Tensor:
    """The same network written out position by position and head by head, in float64."""
    state = {name: tensor.double() for name, tensor in model.state_dict().items()}

    def linear(x: Tensor, name: str) -> Tensor:
        return state[f"{name}.weight"] @ x + state[f"{name}.bias"]

    def norm(x: Tensor, name: str) -> Tensor:
        spread = (x - x.mean()).square().mean()
        return (x - x.mean()) / torch.sqrt(spread + 1e-5) * state[f"{name}.weight"] + state[f"{name}.bias"]

    def attention(rows: list[Tensor], name: str) -> list[Tensor]:
        qkv = [linear(row, f"{name}.qkv") for row in rows]
        mixed = []
        for now in range(len(rows)):
            heads = []
            for head in range(4):
                one = slice(32 * head, 32 * head + 32)
                query = qkv[now][:128][one]
                scores = torch.stack([query @ qkv[past][128:256][one] for past in range(now + 1)])
                shares = (scores / math.sqrt(32)).exp()
                shares = shares / shares.sum()
                heads.append(sum(share * qkv[past][256:][one] for past, share in enumerate(shares)))
            mixed.append(linear(torch.cat(heads), f"{name}.projection"))
        return mixed

    def gelu(x: Tensor) -> Tensor:
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    def feed_forward(x: Tensor, name: str) -> Tensor:
        return linear(gelu(linear(x, f"{name}.expand")), f"{name}.contract")

    rows = [
        state["token_embedding.weight"][token] + state["position_embedding.weight"][position]
        for position, token in enumerate(ids)
    ]
    for block in ("blocks.0", "blocks.1"):
        added = attention([norm(row, f"{block}.attention_norm") for row in rows], f"{block}.attention")
        rows = [row + more for row, more in zip(rows, added, strict=True)]
        rows = [
            row + feed_forward(norm(row, f"{block}.feed_forward_norm"), f"{block}.feed_forward")
            for row in rows
        ]
    return torch.stack([state["token_embedding.weight"] @ norm(row, "final_norm") for row in rows])


class TestParameters:
    def test_breakdown(self, initial_model: TinyArithmeticGPT) -> None:
        assert initial_model.parameter_breakdown() == {
            "token_embedding_and_shared_output": 12_544,
            "position_embedding": 4_096,
            "transformer_blocks": 396_544,
            "final_normalization": 256,
            "total": 413_440,
        }
        assert sum(p.numel() for p in initial_model.parameters()) == 413_440
        assert sum(p.numel() * p.element_size() for p in initial_model.parameters()) == 1_653_760

    def test_names(self, initial_model: TinyArithmeticGPT) -> None:
        expected = {"token_embedding.weight", "position_embedding.weight", "lm_head.weight"}
        layers = ["final_norm"] + [
            f"blocks.{block}.{layer}"
            for block in (0, 1)
            for layer in (
                "attention_norm",
                "attention.qkv",
                "attention.projection",
                "feed_forward_norm",
                "feed_forward.expand",
                "feed_forward.contract",
            )
        ]
        expected |= {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
        assert set(initial_model.state_dict()) == expected

    def test_shapes(self, initial_model: TinyArithmeticGPT) -> None:
        shapes = {name: tuple(tensor.shape) for name, tensor in initial_model.state_dict().items()}
        assert shapes["token_embedding.weight"] == shapes["lm_head.weight"] == (98, 128)
        assert shapes["position_embedding.weight"] == (32, 128)
        assert shapes["blocks.1.attention.qkv.weight"] == (384, 128)
        assert shapes["blocks.1.attention.projection.weight"] == (128, 128)
        assert shapes["blocks.1.feed_forward.expand.weight"] == (512, 128)
        assert shapes["blocks.1.feed_forward.contract.weight"] == (128, 512)

    def test_only_the_tokenizers_vocabulary_is_accepted(self) -> None:
        with pytest.raises(ValueError, match=r"vocab_size must be 98 .* got 37"):
            TinyArithmeticGPT(ModelConfig(vocab_size=37))

    def test_the_defaults_are_used_without_a_config(self) -> None:
        assert TinyArithmeticGPT().config == ModelConfig()


class TestTiedOutput:
    def test_one_storage(self) -> None:
        model = new_initial_model()
        assert model.lm_head.weight is model.token_embedding.weight
        assert model.lm_head.weight.data_ptr() == model.token_embedding.weight.data_ptr()
        assert model.lm_head.bias is None

    def test_a_change_in_one_is_seen_in_the_other(self) -> None:
        model = new_initial_model()
        with torch.no_grad():
            model.lm_head.weight[32, 0] = 7.0
            model.token_embedding.weight[20, 1] = 8.0
        assert model.token_embedding.weight[32, 0] == 7.0
        assert model.lm_head.weight[20, 1] == 8.0

    def test_gradients_of_both_uses_meet(self) -> None:
        model = new_initial_model()
        model(torch.tensor([[1, 20]])).sum().backward()
        gradient = model.token_embedding.weight.grad
        assert gradient is not None
        assert (gradient.abs().sum(dim=1) > 0).all()  # each row is an output row
        as_output = gradient[50]  # a row that is only an output row
        assert not torch.allclose(gradient[20], as_output)


class TestInitialWeights:
    @pytest.mark.parametrize("rounded", [False, True], ids=["float32", "rounded to float16"])
    def test_table_of_the_specification(self, initial_model: TinyArithmeticGPT, rounded: bool) -> None:
        ids = CharacterTokenizer().encode("1+1=2")
        assert ids[4] == 32
        token = initial_model.token_embedding.weight.detach()
        position = initial_model.position_embedding.weight.detach()
        if rounded:
            token, position = token.half().float(), position.half().float()
        assert three_decimals(token[32]) == EQUALS_TOKEN_ROW
        assert three_decimals(position[4]) == EQUALS_POSITION_ROW
        assert three_decimals(token[32] + position[4]) == EQUALS_SUM

    def test_embed_is_token_row_plus_position_row(self, initial_model: TinyArithmeticGPT) -> None:
        embedded = initial_model.embed(torch.tensor([CharacterTokenizer().encode("1+1=2")]))[0]
        assert three_decimals(embedded[4]) == EQUALS_SUM
        # The two 1s, at positions 1 and 3: one token row, two position rows.
        positions = initial_model.position_embedding.weight
        torch.testing.assert_close(embedded[1] - positions[1], embedded[3] - positions[3], rtol=0, atol=1e-7)
        assert not torch.equal(embedded[1], embedded[3])

    def test_same_seed_same_weights(self, initial_model: TinyArithmeticGPT) -> None:
        again = new_initial_model().state_dict()
        assert all(torch.equal(tensor, again[name]) for name, tensor in initial_model.state_dict().items())

    def test_spreads(self, initial_model: TinyArithmeticGPT) -> None:
        for name, tensor in initial_model.state_dict().items():
            if name.endswith("norm.weight"):
                assert (tensor == 1).all(), name
            elif name.endswith("bias"):
                assert (tensor == 0).all(), name
            else:
                ends_a_branch = "projection" in name or "contract" in name
                expected = 0.02 / math.sqrt(2 * 2) if ends_a_branch else 0.02
                assert float(tensor.std()) == pytest.approx(expected, rel=0.05), name
                assert abs(float(tensor.mean())) < expected / 10, name

    def test_residual_spread_follows_the_layers(self) -> None:
        torch.manual_seed(0)
        model = TinyArithmeticGPT(ModelConfig(n_layers=8))
        spread = float(model.blocks[7].feed_forward.contract.weight.detach().std())  # type: ignore[union-attr]
        assert spread == pytest.approx(0.02 / math.sqrt(16), rel=0.05)


class TestForward:
    @pytest.mark.parametrize("positions", range(1, 33))
    def test_shapes_at_every_length(self, initial_model: TinyArithmeticGPT, positions: int) -> None:
        ids = random_ids(3, positions)
        assert initial_model.hidden_states(ids).shape == (3, positions, 128)
        logits = initial_model(ids)
        assert logits.shape == (3, positions, 98)
        assert logits.dtype == torch.float32
        assert logits.isfinite().all()

    @pytest.mark.parametrize("which", ["initial_model", "briefly_trained_model"])
    @pytest.mark.parametrize("positions", [1, 2, 7, 32])
    def test_equals_the_network_written_out(
        self, which: str, positions: int, request: pytest.FixtureRequest
    ) -> None:
        model: TinyArithmeticGPT = request.getfixturevalue(which)
        ids = random_ids(1, positions, seed=positions)
        with torch.inference_mode():
            logits, expected = model(ids)[0].double(), reference_logits(model, ids[0].tolist())
        assert ((logits - expected).abs() <= 1e-5 * expected.abs().clamp(min=1)).all()

    def test_rows_of_a_batch_do_not_mix(self, initial_model: TinyArithmeticGPT) -> None:
        ids = random_ids(4, 9)
        other = torch.cat([ids[:1], random_ids(3, 9, seed=1)])
        assert torch.equal(initial_model(ids)[0], initial_model(other)[0])

    @pytest.mark.parametrize("positions", range(2, 33))
    def test_the_last_token_moves_no_earlier_logit(
        self, initial_model: TinyArithmeticGPT, positions: int
    ) -> None:
        ids = random_ids(2, positions, seed=positions)
        tampered = ids.clone()
        tampered[:, -1] = (ids[:, -1] + 1) % 98
        before, after = initial_model(ids), initial_model(tampered)
        assert torch.equal(before[:, :-1], after[:, :-1])
        assert not torch.equal(before[:, -1], after[:, -1])

    def test_a_token_moves_its_own_and_every_later_position(
        self, briefly_trained_model: TinyArithmeticGPT
    ) -> None:
        ids = random_ids(1, 32)
        before = briefly_trained_model(ids)[0]
        for place in range(32):
            tampered = ids.clone()
            tampered[0, place] = (ids[0, place] + 1) % 98
            moved = (briefly_trained_model(tampered)[0] != before).any(dim=1)
            assert moved.tolist() == [position >= place for position in range(32)]


class TestAttention:
    @pytest.fixture(params=[1.0, 1000.0], ids=["usual", "very large scores"])
    def weights(self, request: pytest.FixtureRequest) -> Iterator[Tensor]:
        torch.manual_seed(0)
        attention = CausalSelfAttention(ModelConfig())
        query, key, _ = attention.queries_keys_values(torch.randn(2, 32, 128) * request.param)
        with torch.inference_mode():
            yield attention.weights(query, key)

    def test_rows_are_finite_and_sum_to_1(self, weights: Tensor) -> None:
        assert weights.shape == (2, 4, 32, 32)
        assert weights.isfinite().all()
        assert (weights >= 0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 4, 32), rtol=0, atol=1e-6)

    def test_the_future_has_exactly_no_weight(self, weights: Tensor) -> None:
        assert (weights.triu(diagonal=1) == 0).all()

    def test_the_first_row_has_one_allowed_position(self, weights: Tensor) -> None:
        assert (weights[:, :, 0, 0] == 1).all()

    def test_scores_are_scaled_by_the_root_of_the_head_width(self) -> None:
        attention = CausalSelfAttention(ModelConfig())
        query, key = torch.ones(1, 4, 3, 32), torch.ones(1, 4, 3, 32)
        torch.testing.assert_close(attention.scores(query, key), torch.full((1, 4, 3, 3), math.sqrt(32)))

    def test_mask_touches_later_positions_alone(self) -> None:
        scores = torch.arange(9.0).view(1, 1, 3, 3)
        masked = CausalSelfAttention(ModelConfig()).mask(scores)
        assert masked[0, 0].tolist() == [[0, -math.inf, -math.inf], [3, 4, -math.inf], [6, 7, 8]]

    def test_heads_are_slices_of_the_fused_projection(self) -> None:
        torch.manual_seed(0)
        attention = CausalSelfAttention(ModelConfig())
        x = torch.randn(2, 5, 128)
        for number, part in enumerate(attention.queries_keys_values(x)):
            assert part.shape == (2, 4, 5, 32)
            rows = slice(128 * number + 32, 128 * number + 64)
            head_1 = F.linear(x, attention.qkv.weight[rows], attention.qkv.bias[rows])
            torch.testing.assert_close(part[:, 1], head_1)


class TestDropout:
    # Embeddings, attention weights, attention output, feed-forward output.
    PLACES = ("dropout", "attention.weight_dropout", "attention.output_dropout", "feed_forward.dropout")

    @pytest.mark.parametrize("place", PLACES)
    def test_each_place_drops_in_training_alone(self, place: str) -> None:
        torch.manual_seed(0)
        model = TinyArithmeticGPT(ModelConfig(dropout=0.5))
        found = 0
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Dropout):
                assert module.p == 0.5
                here = name == place if place == "dropout" else name.endswith(f".{place}")
                module.p = 0.5 if here else 0.0
                found += here
        assert found == (1 if place == "dropout" else 2)
        ids = random_ids(2, 9)
        quiet = model.eval()(ids)
        assert torch.equal(quiet, model(ids))
        assert not torch.equal(quiet, model.train()(ids))

    def test_there_are_no_other_places(self) -> None:
        model = TinyArithmeticGPT(ModelConfig(dropout=0.5))
        assert sum(isinstance(module, torch.nn.Dropout) for module in model.modules()) == 1 + 2 * 3

    def test_none_by_default(self, initial_model: TinyArithmeticGPT) -> None:
        model = new_initial_model().train()
        ids = random_ids(2, 9)
        assert torch.equal(model(ids), initial_model(ids))


WRONG_INPUTS = {
    "float": (torch.zeros(1, 3), "torch.long, got torch.float32"),
    "int32": (torch.zeros(1, 3, dtype=torch.int32), "torch.long, got torch.int32"),
    "bool": (torch.zeros(1, 3, dtype=torch.bool), "torch.long, got torch.bool"),
    "no tensor": ([[1, 20, 14]], "torch.long"),
    "one dimension": (torch.tensor([1, 20]), r"\[batch, positions\], got shape \[2\]"),
    "three dimensions": (
        torch.ones(1, 2, 3, dtype=torch.long),
        r"\[batch, positions\], got shape \[1, 2, 3\]",
    ),
    "no rows": (torch.zeros(0, 3, dtype=torch.long), r"at least one row and one position, got \[0, 3\]"),
    "no positions": (torch.zeros(2, 0, dtype=torch.long), r"at least one row and one position, got \[2, 0\]"),
    "33 positions": (
        torch.ones(1, 33, dtype=torch.long),
        "33 positions, the context length is 32; nothing is cut",
    ),
    "ID 98": (torch.tensor([[1, 98]]), "0 to 97, got 98"),
    "ID -1": (torch.tensor([[1, -1]]), "0 to 97, got -1"),
}


@pytest.mark.parametrize(("ids", "fragment"), WRONG_INPUTS.values(), ids=WRONG_INPUTS.keys())
def test_wrong_input_is_refused(initial_model: TinyArithmeticGPT, ids: Tensor, fragment: str) -> None:
    for read in (initial_model, initial_model.hidden_states, initial_model.check_input):
        with pytest.raises(ValueError, match=fragment):
            read(ids)


@pytest.mark.parametrize("ids", [torch.tensor([[0]]), torch.tensor([[97] * 32]), torch.tensor([[0, 97]] * 3)])
def test_input_at_the_limits_is_read(initial_model: TinyArithmeticGPT, ids: Tensor) -> None:
    initial_model.check_input(ids)
    assert initial_model(ids).isfinite().all()
