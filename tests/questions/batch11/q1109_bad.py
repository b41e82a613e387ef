import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalLM(nn.Module):
    def __init__(self, vocab=64, d=48):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, input_ids, labels):
        h, _ = self.rnn(self.wte(input_ids))
        logits = self.lm_head(h)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


def batches(n, batch_size=8, length=24, vocab=64):
    for _ in range(n):
        start = torch.randint(0, vocab, (batch_size, 1))
        ids = (start + 3 * torch.arange(length)) % vocab
        yield {"input_ids": ids, "labels": ids}


def training_function(config):
    torch.manual_seed(config["seed"])
    model = CausalLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    lr_scheduler = torch.optim.lr_scheduler.LinearLR(
        optimizer, 1.0, 0.1, total_iters=config["num_epochs"] * config["steps"]
    )
    for epoch in range(config["num_epochs"]):
        model.train()
        loss_sum = torch.tensor(0.0)
        for step, batch in enumerate(batches(config["steps"])):
            outputs = model(**batch)
            loss = outputs["loss"]
            loss_sum += loss
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
            if step % 20 == 0:
                print(f"[epoch {epoch} step {step}] loss: {loss.item():.4f}")
        avg = (loss_sum / config["steps"]).item()
        print(f"epoch {epoch} average train loss {avg:.4f}")


training_function({"seed": 11, "lr": 3e-3, "num_epochs": 3, "steps": 60})
