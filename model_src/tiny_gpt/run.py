"""A training run: the model, its optimizers, the problem stream, and the step they are at.

All that the next step depends on is saved in one file, so a run that is stopped or
killed at any instant goes on to the same weights as one that never stopped (same
machine, device and thread count).
"""

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from tiny_gpt.checkpoint import CheckpointError, stored_tensors, write_atomically
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import ProblemStream, encode_rows, inputs_and_targets
from tiny_gpt.model import TinyArithmeticGPT, next_token_loss
from tiny_gpt.recipe import Recipe, schedule

INITIAL_SEED = 42


def initial_model(config: ModelConfig | None = None) -> TinyArithmeticGPT:
    """The epoch-0 network: the same random weights for everybody (seed 42).

    `config` None is the published size.
    """
    torch.manual_seed(INITIAL_SEED)
    return TinyArithmeticGPT(config or ModelConfig())


# --8<-- [start:optimizers]
def new_optimizers(model: TinyArithmeticGPT, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al., 2024) for the matrices inside the blocks, AdamW for the rest.

    AdamW (Loshchilov and Hutter, 2019) scales each number's step by that number's
    past gradients. Muon treats a matrix as one thing: it evens out the step's
    directions, so that none of them is left behind. Vectors and embeddings have no
    such directions and stay with AdamW.
    """
    matrices = [p for name, p in model.named_parameters() if name.startswith("blocks.") and p.dim() == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    betas = (recipe.beta1, recipe.beta2)
    adamw = torch.optim.AdamW(others, lr=recipe.learning_rate, betas=betas, weight_decay=0, fused=True)
    rate, decay = recipe.matrix_learning_rate, recipe.weight_decay
    if recipe.matrix_optimizer == "muon":
        return [torch.optim.Muon(matrices, lr=rate, weight_decay=decay), adamw]
    return [torch.optim.AdamW(matrices, lr=rate, betas=betas, weight_decay=decay, fused=True), adamw]


# --8<-- [end:optimizers]


class Run:
    """A training run: model, optimizer, problem stream and the step they are at."""

    def __init__(self, recipe: Recipe, device: str = "cpu", config: ModelConfig | None = None) -> None:
        self.recipe = recipe
        self.device = torch.device(device)
        self.model = initial_model(config).to(self.device)
        self.optimizers = new_optimizers(self.model, recipe)
        self.highest_rates = [optimizer.defaults["lr"] for optimizer in self.optimizers]
        self.stream = ProblemStream(recipe.stream_seed, recipe.mix)
        self.step = 0
        self.log: list[dict[str, Any]] = []
        self.snapshots: list[int] = []

    # --8<-- [start:step]
    def train_step(self) -> float:
        """One batch: score every next token, measure the error, move the weights. Returns the loss."""
        problems = self.stream.take(self.recipe.batch_size)
        inputs, targets = inputs_and_targets(torch.from_numpy(encode_rows(problems)).to(self.device))
        share = schedule(self.step, self.recipe)
        for optimizer, highest in zip(self.optimizers, self.highest_rates, strict=True):
            optimizer.param_groups[0]["lr"] = highest * share
            optimizer.zero_grad()
        self.model.train()
        loss = next_token_loss(self.model(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        return loss.item()

    # --8<-- [end:step]

    def save(self, path: Path) -> None:
        """Write everything the next step depends on, in one atomic replacement."""
        tensors = {f"model.{name}": t for name, t in stored_tensors(self.model).items()}
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                for key, value in state.items():
                    tensors[f"optimizer.{number}.{index}.{key}"] = value.detach().cpu().clone()
        tensors["random_state"] = torch.get_rng_state()
        facts = {
            "recipe": self.recipe.to_dict(),
            "config": self.model.config.to_dict(),
            "step": self.step,
            "next_candidate": self.stream.next_candidate,
            "log": self.log,
            "snapshots": self.snapshots,
        }
        write_atomically(path, safetensors.torch.save(tensors, {"run": json.dumps(facts)}))

    @staticmethod
    def load(path: Path, device: str = "cpu") -> "Run":
        """The run as it was saved. Raises `CheckpointError` for a missing or damaged file."""
        try:
            with safetensors.safe_open(str(path), framework="pt") as file:
                facts = json.loads(file.metadata()["run"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            run = Run(Recipe.from_dict(facts["recipe"]), device, ModelConfig(**facts["config"]))
            run.step, run.log, run.snapshots = facts["step"], facts["log"], facts["snapshots"]
            run.stream.next_candidate = facts["next_candidate"]
            weights = {name: tensors[f"model.{name}"] for name in stored_tensors(run.model)}
            run.model.load_state_dict(weights, strict=False)
            for number, optimizer in enumerate(run.optimizers):
                state = optimizer.state_dict()
                for name, tensor in tensors.items():
                    if name.startswith(f"optimizer.{number}."):
                        index, key = name.split(".")[2:]
                        state["state"].setdefault(int(index), {})[key] = tensor
                optimizer.load_state_dict(state)
            torch.set_rng_state(tensors["random_state"])
        except FileNotFoundError:
            raise CheckpointError(f"{path} does not exist; start the run without --resume") from None
        except (safetensors.SafetensorError, KeyError, RuntimeError, TypeError, ValueError, OSError) as error:
            raise CheckpointError(f"{path} is damaged or not a training state: {error}") from None
        return run
