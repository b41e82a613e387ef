"""Programs with transformers' Trainer as people write them: typical mistakes, each with its right twin, and what the
Trainer itself does around a correct model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


def rows(count: int = 32) -> list[dict[str, Tensor]]:
    ids = torch.randint(5, 40, (count, 8))
    return [{"input_ids": row, "labels": (row[0] > 20).long()} for row in ids]


def bert(**more: Any) -> Any:
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=16,
            **more,
        )
    )


def arguments(**more: Any) -> TrainingArguments:
    fixed: dict[str, Any] = {
        "output_dir": "out",
        "per_device_train_batch_size": 4,
        "num_train_epochs": 2,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        "learning_rate": 1e-3,
    }
    return TrainingArguments(**(fixed | more))


class Tagger(nn.Module):
    """A model of one's own: the Trainer takes any whose forward returns the loss first."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 16)
        self.body = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
        self.head = nn.Linear(16, 2)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
        logits = self.head(self.body(self.table(input_ids).mean(1)))
        loss = F.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


# -- compute_loss ------------------------------------------------------------------------------------


def bad_logits_detached_in_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            out = model(**inputs)
            logits = out["logits"].detach()  # cause: GS303, GS301
            loss = F.cross_entropy(logits, labels)
            return (loss, out) if return_outputs else loss

    Own(bert(), arguments(), train_dataset=rows()).train()


def good_weighted_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            out = model(**inputs)
            loss = F.cross_entropy(out["logits"], labels, weight=torch.tensor([1.0, 2.0]))
            return (loss, out) if return_outputs else loss

    Own(bert(), arguments(eval_strategy="epoch"), train_dataset=rows(), eval_dataset=rows(8)).train()


def bad_loss_made_anew_in_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            loss = model(**inputs).loss
            return torch.tensor(loss.item(), requires_grad=True)  # cause: GS304

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_term_of_the_loss_as_a_number() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            size = out.logits.pow(2).mean().item()  # cause: GS315
            return out.loss + 0.1 * size

    Own(bert(), arguments(), train_dataset=rows()).train()


def good_term_of_the_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            return out.loss + 0.1 * out.logits.pow(2).mean()

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_softmax_in_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            sure = model(**inputs).logits.softmax(-1)  # cause: GS702
            return F.cross_entropy(sure, labels)

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_own_backward_in_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            loss = model(**inputs).loss
            loss.backward()  # cause: GS306
            return loss

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_losses_kept_in_compute_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            loss = model(**inputs).loss
            self.losses = getattr(self, "losses", [])
            self.losses.append(loss)  # cause: GS602
            return loss

    Own(bert(), arguments(), train_dataset=rows()).train()


def good_losses_kept_detached() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            self.losses = getattr(self, "losses", [])
            self.losses.append(out.loss.detach())
            return (out.loss, out) if return_outputs else out.loss

    Own(bert(), arguments(), train_dataset=rows()).train()


# -- the model -----------------------------------------------------------------------------------------


def bad_features_without_grad() -> None:
    class Model(Tagger):
        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            with torch.no_grad():  # cause: GS301
                features = self.body(self.table(input_ids).mean(1))
            logits = self.head(features)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def good_features_without_grad_and_frozen() -> None:
    class Model(Tagger):
        def __init__(self) -> None:
            super().__init__()
            self.table.requires_grad_(False)
            self.body.requires_grad_(False)

        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            with torch.no_grad():
                features = self.body(self.table(input_ids).mean(1))
            logits = self.head(features)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def bad_frozen_by_a_module_attribute() -> None:
    model = bert()
    model.bert.requires_grad = False  # cause: GS308
    Trainer(model, arguments(), train_dataset=rows()).train()


def good_frozen_base() -> None:
    model = bert()
    for p in model.bert.parameters():
        p.requires_grad = False
    Trainer(model, arguments(), train_dataset=rows()).train()


def bad_heads_in_a_plain_list() -> None:
    class Model(Tagger):
        def __init__(self) -> None:
            super().__init__()
            self.more = [nn.Linear(16, 16), nn.Linear(16, 16)]  # cause: GS214

        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            hidden = self.body(self.table(input_ids).mean(1))
            for layer in self.more:
                hidden = torch.tanh(layer(hidden))
            logits = self.head(hidden)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def good_model_of_ones_own() -> None:
    run = Trainer(Tagger(), arguments(eval_strategy="epoch"), train_dataset=rows(), eval_dataset=rows(8))
    run.train()
    run.predict(rows(8))


def bad_dropout_always_on() -> None:
    class Model(Tagger):
        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            hidden = F.dropout(self.body(self.table(input_ids).mean(1)), 0.2)  # cause: GS404
            logits = self.head(hidden)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    run = Trainer(Model(), arguments(eval_strategy="epoch"), train_dataset=rows(), eval_dataset=rows(8))
    run.train()


def bad_one_class_only() -> None:
    class Model(Tagger):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(16, 1)

        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            logits = self.head(self.body(self.table(input_ids).mean(1)))
            loss = F.cross_entropy(logits, torch.zeros(len(logits)).long())  # cause: GS704
            return {"loss": loss, "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def good_regression_with_one_label() -> None:
    data = [row | {"labels": row["labels"].float()} for row in rows()]
    Trainer(bert(num_labels=1), arguments(), train_dataset=data).train()


# -- optimizers and callbacks -------------------------------------------------------------------------------


def bad_optimizer_for_the_head_alone() -> None:
    model = bert()
    optimizer = torch.optim.AdamW(model.classifier.parameters(), lr=1e-3)  # cause: GS206
    Trainer(model, arguments(), train_dataset=rows(), optimizers=(optimizer, None)).train()


def good_optimizer_with_groups() -> None:
    model = bert()
    optimizer = torch.optim.AdamW(
        [{"params": model.bert.parameters(), "lr": 1e-4}, {"params": model.classifier.parameters()}], lr=1e-3
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 20))
    Trainer(model, arguments(), train_dataset=rows(), optimizers=(optimizer, schedule)).train()


def bad_optimizer_of_another_model() -> None:
    optimizer = torch.optim.AdamW(bert().parameters(), lr=1e-3)  # cause: GS207, GS206, GS204
    Trainer(bert(), arguments(), train_dataset=rows(), optimizers=(optimizer, None)).train()


def good_model_init() -> None:
    Trainer(model_init=lambda: bert(), args=arguments(), train_dataset=rows()).train()


def bad_head_replaced_by_a_callback() -> None:
    class Replace(TrainerCallback):
        def on_epoch_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            model.classifier = nn.Linear(16, 2)  # cause: GS206, GS207

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Replace()]).train()


def good_head_replaced_before() -> None:
    model = bert()
    model.classifier = nn.Linear(16, 2)
    Trainer(model, arguments(), train_dataset=rows()).train()


def bad_evaluated_in_a_callback_without_eval() -> None:
    class Test(TrainerCallback):
        def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            right = 0
            with torch.no_grad():
                for row in rows(8):
                    logits = model(input_ids=row["input_ids"][None]).logits  # cause: GS401
                    right += int(logits.argmax(-1).item() == row["labels"])
            print(right)

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Test()]).train()


def good_sampled_in_a_callback() -> None:
    class Sample(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            if state.global_step % 4 == 0:
                model.eval()
                with torch.no_grad():
                    print(model(input_ids=rows(1)[0]["input_ids"][None]).logits.argmax(-1).item())
                model.train()

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Sample()]).train()


def bad_gradients_cleared_before_the_step() -> None:
    class Clear(TrainerCallback):
        def on_pre_optimizer_step(
            self, args: Any, state: Any, control: Any, model: Any = None, **kw: Any
        ) -> None:
            model.zero_grad()  # cause: GS202

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Clear()]).train()


def good_gradients_logged_before_the_step() -> None:
    class Norms(TrainerCallback):
        def on_pre_optimizer_step(
            self, args: Any, state: Any, control: Any, model: Any = None, **kw: Any
        ) -> None:
            print(max(float(p.grad.norm()) for p in model.parameters() if p.grad is not None))

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Norms()]).train()


# -- the Trainer's own machinery around a correct model -----------------------------------------------------------


def good_accumulation_and_schedule() -> None:
    more = arguments(
        gradient_accumulation_steps=2, lr_scheduler_type="cosine", warmup_steps=2, max_grad_norm=0.5
    )
    Trainer(bert(), more, train_dataset=rows()).train()


def good_checkpoints_and_resuming() -> None:
    more: dict[str, Any] = {
        "save_strategy": "epoch",
        "eval_strategy": "epoch",
        "load_best_model_at_end": True,
    }
    Trainer(bert(), arguments(**more), train_dataset=rows(), eval_dataset=rows(8)).train()
    again = Trainer(bert(), arguments(**more, num_train_epochs=3), train_dataset=rows(), eval_dataset=rows(8))
    again.train(resume_from_checkpoint=True)


def good_bf16_and_label_smoothing() -> None:
    Trainer(bert(), arguments(bf16=True, label_smoothing_factor=0.1), train_dataset=rows()).train()


def good_gradient_checkpointing() -> None:
    Trainer(bert(), arguments(gradient_checkpointing=True), train_dataset=rows()).train()


def good_adafactor_and_groups_by_length() -> None:
    Trainer(bert(), arguments(optim="adafactor"), train_dataset=rows()).train()


def good_distillation() -> None:
    teacher = bert().eval()

    class Student(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            with torch.no_grad():
                wanted = teacher(**inputs).logits
            soft = F.kl_div(out.logits.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")
            loss = 0.5 * out.loss + 0.5 * soft
            return (loss, out) if return_outputs else loss

    Student(bert(), arguments(), train_dataset=rows()).train()
