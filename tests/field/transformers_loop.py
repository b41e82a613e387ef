"""Trains a small transformers model with random weights as tutorials do: correct code.

    gradscope run tests/field/transformers_loop.py bert
    gradscope run tests/field/transformers_loop.py bert --trainer   (needs accelerate)

Three epochs of AdamW with a schedule and clipping, an evaluation after each. `--list` names
the architectures.
"""

from __future__ import annotations

import argparse
import inspect
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

VOCABULARY, LENGTH, CLASSES, EPOCHS = 64, 12, 3, 3
Sample = dict[str, torch.Tensor]

TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 32,
    "num_labels": CLASSES,
}
DECODER = TEXT | {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
IMAGE = {
    "image_size": 16,
    "patch_size": 4,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "num_labels": CLASSES,
}
SEQ2SEQ = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def sentence() -> Sample:
    kept = int(torch.randint(LENGTH // 2, LENGTH + 1, ()))
    mask = (torch.arange(LENGTH) < kept).long()
    return {"input_ids": torch.randint(3, VOCABULARY, (LENGTH,)) * mask, "attention_mask": mask}


def labelled_sentence() -> Sample:
    return sentence() | {"labels": torch.randint(CLASSES, ())}


def continued_sentence() -> Sample:
    words = sentence()
    return words | {"labels": words["input_ids"].masked_fill(words["attention_mask"] == 0, -100)}


def masked_sentence() -> Sample:
    words = sentence()
    hidden = (torch.rand(LENGTH) < 0.3) | (torch.arange(LENGTH) == 0)
    labels = words["input_ids"].masked_fill(~hidden, -100)
    return words | {"input_ids": words["input_ids"].masked_fill(hidden, 1), "labels": labels}


def translated_sentence() -> Sample:
    return sentence() | {"labels": torch.randint(3, VOCABULARY, (LENGTH - 2,))}


def tagged_sentence() -> Sample:
    return sentence() | {"labels": torch.randint(CLASSES, (LENGTH,))}


def answered_sentence() -> Sample:
    return sentence() | {
        "start_positions": torch.randint(LENGTH // 2, ()),
        "end_positions": torch.randint(LENGTH // 2, ()),
    }


def image() -> Sample:
    return {"pixel_values": torch.randn(3, 16, 16), "labels": torch.randint(CLASSES, ())}


def image_only() -> Sample:
    return {"pixel_values": torch.randn(3, 16, 16)}


def speech() -> Sample:
    return {"input_features": torch.randn(8, 32), "labels": torch.randint(3, VOCABULARY, (LENGTH,))}


def waveform() -> Sample:
    return {"input_values": torch.randn(400), "labels": torch.randint(CLASSES, ())}


def captioned_image() -> Sample:
    return sentence() | {"pixel_values": torch.randn(3, 16, 16)}


def series() -> Sample:
    return {"past_values": torch.randn(32, 2), "future_values": torch.randn(4, 2)}


def clip() -> nn.Module:
    config = transformers.CLIPConfig(text_config=TEXT, vision_config=IMAGE, projection_dim=16)
    return transformers.CLIPModel(config)


def build(config: str, model: str, settings: dict[str, Any], **more: Any) -> Callable[[], nn.Module]:
    """What makes the model, once it is asked for."""
    return lambda: getattr(transformers, model)(getattr(transformers, config)(**(settings | more)))


Model = tuple[Callable[[], nn.Module], Callable[[], Sample]]


def classifier(name: str, **more: Any) -> Model:
    return build(f"{name}Config", f"{name}ForSequenceClassification", TEXT, **more), labelled_sentence


def language_model(name: str, **more: Any) -> Model:
    return build(f"{name}Config", f"{name}ForCausalLM", DECODER, **more), continued_sentence


def translator(name: str, **more: Any) -> Model:
    return build(f"{name}Config", f"{name}ForConditionalGeneration", SEQ2SEQ, **more), translated_sentence


def image_classifier(name: str, **more: Any) -> Model:
    return build(f"{name}Config", f"{name}ForImageClassification", IMAGE, **more), image


GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32}
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
DISTILBERT = {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 2}
XLNET = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "n_layer": 2,
    "n_head": 2,
    "d_inner": 48,
    "num_labels": CLASSES,
}
MAMBA = {"state_size": 4, "conv_kernel": 2, "time_step_rank": 2, "intermediate_size": 64}
WHISPER = SEQ2SEQ | {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32}
STAGES = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": CLASSES}
SWIN = {
    "image_size": 16,
    "patch_size": 2,
    "embed_dim": 16,
    "depths": [1, 1],
    "num_heads": [2, 2],
    "window_size": 2,
    "num_labels": CLASSES,
}
WAVE = TEXT | {
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_length": 2,
    "classifier_proj_size": 16,
}
SERIES = {
    "context_length": 32,
    "prediction_length": 4,
    "patch_length": 8,
    "patch_stride": 8,
    "num_input_channels": 2,
    "d_model": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "ffn_dim": 48,
}

MODELS: dict[str, Model] = {
    "bert": classifier("Bert"),
    "roberta": classifier("Roberta", max_position_embeddings=40),
    "distilbert": classifier("DistilBert", **DISTILBERT),
    "albert": classifier("Albert", embedding_size=16),
    "electra": classifier("Electra", embedding_size=16),
    "deberta": classifier("DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "xlnet": (build("XLNetConfig", "XLNetForSequenceClassification", XLNET), labelled_sentence),
    "bert_masked": (build("BertConfig", "BertForMaskedLM", TEXT), masked_sentence),
    "bert_tags": (build("BertConfig", "BertForTokenClassification", TEXT), tagged_sentence),
    "bert_answers": (
        build("BertConfig", "BertForQuestionAnswering", TEXT, num_labels=2),
        answered_sentence,
    ),
    "gpt2": (build("GPT2Config", "GPT2LMHeadModel", DECODER, **GPT2), continued_sentence),
    "llama": language_model("Llama"),
    "mistral": language_model("Mistral", sliding_window=8),
    "mixtral": language_model("Mixtral", num_local_experts=4, output_router_logits=True),
    "qwen2": language_model("Qwen2"),
    "gemma": language_model("Gemma", head_dim=16),
    "phi": language_model("Phi"),
    "mamba": language_model("Mamba", **MAMBA),
    "t5": (build("T5Config", "T5ForConditionalGeneration", TEXT, **T5), translated_sentence),
    "bart": translator("Bart", forced_eos_token_id=2),
    "whisper": (build("WhisperConfig", "WhisperForConditionalGeneration", WHISPER), speech),
    "wav2vec2": (build("Wav2Vec2Config", "Wav2Vec2ForSequenceClassification", WAVE), waveform),
    "vit": image_classifier("ViT"),
    "deit": image_classifier("DeiT"),
    "swin": (build("SwinConfig", "SwinForImageClassification", SWIN), image),
    "convnext": (build("ConvNextConfig", "ConvNextForImageClassification", STAGES, num_stages=2), image),
    "resnet": (build("ResNetConfig", "ResNetForImageClassification", STAGES, layer_type="basic"), image),
    "vit_mae": (
        build(
            "ViTMAEConfig",
            "ViTMAEForPreTraining",
            IMAGE,
            decoder_hidden_size=32,
            decoder_num_hidden_layers=1,
            decoder_num_attention_heads=2,
            decoder_intermediate_size=48,
        ),
        image_only,
    ),
    "clip": (clip, captioned_image),
    "patchtst": (build("PatchTSTConfig", "PatchTSTForPrediction", SERIES), series),
}


def with_loss(model: nn.Module) -> dict[str, bool]:
    """What a model has to be told to compute its loss."""
    return {"return_loss": True} if "return_loss" in inspect.signature(model.forward).parameters else {}


def evaluate(model: nn.Module, loader: DataLoader[Sample]) -> float:
    model.eval()
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model(**batch, **with_loss(model)).loss.item()
    return total / len(loader)


def train(model: nn.Module, train_data: list[Sample], test_data: list[Sample]) -> None:
    train_loader = DataLoader(train_data, batch_size=4, shuffle=True)
    test_loader = DataLoader(test_data, batch_size=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    steps = EPOCHS * len(train_loader)
    scheduler = transformers.get_linear_schedule_with_warmup(optimizer, 2, steps)
    for epoch in range(EPOCHS):
        model.train()
        for batch in train_loader:
            loss = model(**batch, **with_loss(model)).loss
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        print(f"epoch {epoch}: {evaluate(model, test_loader):.5f}")


def let_trainer(model: nn.Module, train_data: list[Sample], test_data: list[Sample]) -> None:
    """The same by transformers' own loop, with accumulation and label smoothing off."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            num_train_epochs=EPOCHS,
            eval_strategy="epoch",
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = transformers.Trainer(model, arguments, train_dataset=train_data, eval_dataset=test_data)
        print(f"{trainer.train().training_loss:.5f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("architecture", nargs="?", choices=MODELS)
    parser.add_argument("--list", action="store_true", help="name the architectures")
    parser.add_argument("--trainer", action="store_true", help="train with transformers.Trainer")
    arguments = parser.parse_args()
    if arguments.list or not arguments.architecture:
        print("\n".join(MODELS))
        return
    torch.manual_seed(0)
    make, sample = MODELS[arguments.architecture]
    model = make()
    data = [sample() for _ in range(28)]
    (let_trainer if arguments.trainer else train)(model, data[:20], data[20:])


if __name__ == "__main__":
    main()
