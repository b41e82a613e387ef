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


def bad_unfrozen_by_a_callback() -> None:
    class Unfreeze(TrainerCallback):
        def on_step_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            if state.global_step == 4:
                model.bert.encoder.requires_grad_(True)  # cause: GS206

    model = bert()
    model.bert.requires_grad_(False)
    Trainer(model, arguments(), train_dataset=rows(), callbacks=[Unfreeze()]).train()


def good_unfrozen_by_a_callback_and_held_all_the_time() -> None:
    class Unfreeze(TrainerCallback):
        def on_step_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            if state.global_step == 4:
                model.bert.encoder.requires_grad_(True)

    model = bert()
    model.bert.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    Trainer(
        model, arguments(), train_dataset=rows(), optimizers=(optimizer, None), callbacks=[Unfreeze()]
    ).train()


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


def bad_cosine_in_epochs() -> None:
    model = bert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)  # cause: GS217: `T_max=32`
    more = arguments(num_train_epochs=4)
    Trainer(model, more, train_dataset=rows(), optimizers=(optimizer, schedule)).train()


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


# -- second sight: what else people write wrongly ---------------------------------------------------------


def bad_loss_rewrapped_by_torch_tensor() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            loss = torch.tensor(out.loss)  # cause: GS303: `compute_loss`
            return (loss, out) if return_outputs else loss

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_item_of_the_loss() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            loss = out.loss.item() + 0.01 * out.logits.pow(2).mean().item()  # cause: GS303: `compute_loss`
            return torch.tensor(loss)

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_model_called_without_grad() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            with torch.no_grad():  # cause: GS303: `compute_loss`
                out = model(**inputs)
            return F.cross_entropy(out.logits, labels)

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_hidden_state_detached_in_forward() -> None:
    class Model(Tagger):
        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            hidden = self.body(self.table(input_ids).mean(1))
            hidden = torch.from_numpy(hidden.detach().numpy())  # cause: GS301
            logits = self.head(hidden)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def bad_loss_of_a_prediction() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            guess = model(**inputs).logits.argmax(-1).float()  # cause: GS303: `compute_loss`
            return F.mse_loss(guess, labels.float())

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_forward_returns_detached_loss() -> None:
    class Model(Tagger):
        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            logits = self.head(self.body(self.table(input_ids).mean(1)))
            loss = F.cross_entropy(logits, labels).detach()  # cause: GS303: `forward`
            return {"loss": loss, "logits": logits}

    Trainer(Model(), arguments(), train_dataset=rows()).train()


def bad_extra_head_in_no_optimizer() -> None:
    class Own(Trainer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.margin = nn.Linear(2, 2)  # cause: GS206

        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            out = model(**inputs)
            return F.cross_entropy(self.margin(out.logits), labels)

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_extra_head_that_nothing_clears() -> None:
    class Own(Trainer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.margin = nn.Linear(2, 2)

        def create_optimizer(self, *args: Any) -> Any:
            optimizer = super().create_optimizer(*args)
            optimizer.add_param_group({"params": self.margin.parameters(), "lr": 1e-3})
            return optimizer

        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            out = model(**inputs)
            return F.cross_entropy(self.margin(out.logits), labels)

    Own(bert(), arguments(), train_dataset=rows()).train()  # cause: GS203: part of


def good_extra_head_as_a_part_of_the_model() -> None:
    class Own(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            labels = inputs.pop("labels")
            out = model(**inputs)
            return F.cross_entropy(model.margin(out.logits), labels)

    model = bert()
    model.margin = nn.Linear(2, 2)
    Own(model, arguments(), train_dataset=rows()).train()


def bad_create_optimizer_with_the_head_alone() -> None:
    class Own(Trainer):
        def create_optimizer(self, *args: Any) -> Any:
            self.optimizer = torch.optim.AdamW(self.model.classifier.parameters(), lr=1e-3)  # cause: GS206
            return self.optimizer

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_frozen_for_a_warm_up_and_never_thawed() -> None:
    class WarmUp(TrainerCallback):
        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            model.bert.requires_grad_(False)

        def on_epoch_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            if state.epoch and state.epoch > 30:
                model.bert.requires_grad_(True)

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[WarmUp()]).train()  # cause: GS208


def good_frozen_for_a_warm_up_and_thawed() -> None:
    class WarmUp(TrainerCallback):
        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            model.bert.requires_grad_(False)

        def on_epoch_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            if state.epoch and state.epoch >= 1:
                model.bert.requires_grad_(True)

    Trainer(bert(), arguments(num_train_epochs=3), train_dataset=rows(), callbacks=[WarmUp()]).train()


def bad_eval_left_on_by_a_callback() -> None:
    class Sample(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            if state.global_step == 4:
                model.eval()  # cause: GS403
                with torch.no_grad():
                    print(model(input_ids=rows(1)[0]["input_ids"][None]).logits.argmax(-1).item())

    class Own(Trainer):
        def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
            self.accelerator.backward(loss)
            return loss.detach()

    Own(bert(), arguments(), train_dataset=rows(), callbacks=[Sample()]).train()


def good_own_training_step() -> None:
    class Own(Trainer):
        def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
            model.train()
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
            self.accelerator.backward(loss)
            return loss.detach()

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_own_training_step_without_backward() -> None:
    class Own(Trainer):
        def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
            model.train()
            return self.compute_loss(model, self._prepare_inputs(inputs))  # cause: GS204: `training_step`

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_own_training_step_returns_the_graph() -> None:
    class Own(Trainer):
        def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
            model.train()
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
            self.accelerator.backward(loss)
            self.total = getattr(self, "total", 0) + loss  # cause: GS602
            return loss.detach()

    Own(bert(), arguments(), train_dataset=rows()).train()


def bad_clipped_after_the_step_in_a_callback() -> None:
    class Clip(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # cause: GS209

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Clip()]).train()


def bad_cleared_between_accumulated_batches() -> None:
    class Clear(TrainerCallback):
        def on_substep_end(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            model.zero_grad()  # cause: GS215

    more = arguments(gradient_accumulation_steps=4)
    Trainer(bert(), more, train_dataset=rows(), callbacks=[Clear()]).train()


def bad_teacher_in_training_mode() -> None:
    teacher = bert()

    class Student(Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
            out = model(**inputs)
            with torch.no_grad():
                wanted = teacher(**inputs).logits  # cause: GS401
            soft = F.kl_div(out.logits.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")
            return out.loss + soft

    Student(bert(), arguments(), train_dataset=rows()).train()


def bad_everything_frozen() -> None:
    model = bert()
    for p in model.parameters():
        p.requires_grad = False  # cause: GS303
    Trainer(model, arguments(), train_dataset=rows()).train()


def bad_ema_that_keeps_graphs() -> None:
    class Average(TrainerCallback):
        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            self.average = model.classifier.weight.clone()

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            self.average = 0.9 * self.average + 0.1 * model.classifier.weight  # cause: GS602, GS603

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Average()]).train()


def good_ema_without_graphs() -> None:
    class Average(TrainerCallback):
        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> None:
            self.average = model.classifier.weight.detach().clone()

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            self.average = 0.9 * self.average + 0.1 * model.classifier.weight.detach()

    Trainer(bert(), arguments(), train_dataset=rows(), callbacks=[Average()]).train()


def good_metrics_and_preprocessed_logits() -> None:
    def metrics(seen: Any) -> dict[str, float]:
        return {"accuracy": float((seen.predictions == seen.label_ids).mean())}

    run = Trainer(
        bert(),
        arguments(eval_strategy="steps", eval_steps=4),
        train_dataset=rows(),
        eval_dataset=rows(8),
        compute_metrics=metrics,
        preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1),
    )
    run.train()
    run.evaluate()
