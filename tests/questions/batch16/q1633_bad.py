import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, vocab=32, context=4, dim=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.up = nn.Linear(context * dim, 128)
        self.final_norm = nn.LayerNorm(128)
        self.final_proj = nn.Linear(128, vocab, bias=False)
        self.init_model_parameters()

    def init_model_parameters(self):
        nn.init.normal_(self.embedding.weight, std=1.0)
        for layer in (self.up, self.final_proj):
            bound = math.sqrt(1 / layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound)
        nn.init.zeros_(self.up.bias)

    def forward(self, tokens):
        h = F.silu(self.up(self.embedding(tokens).flatten(1)))
        return self.final_proj(self.final_norm(h))


class CheckpointManager:
    def __init__(self):
        self.files = {}

    def save_checkpoint(self, model, optimizer, step, name):
        buffer = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, buffer)
        self.files[name] = buffer.getvalue()

    def load_checkpoint(self, model, optimizer, name):
        checkpoint = torch.load(io.BytesIO(self.files[name]))
        model.load_state_dict(checkpoint["model"])
        model.init_model_parameters()
        optimizer.load_state_dict(checkpoint["optimizer"])
        return checkpoint["step"]


def make_corpus(n, vocab=32):
    table = torch.randint(vocab, (vocab, vocab))
    tokens = [1, 2]
    for _ in range(n):
        if torch.rand(()) < 0.1:
            tokens.append(int(torch.randint(vocab, ())))
        else:
            tokens.append(int(table[tokens[-1], tokens[-2]]))
    return torch.tensor(tokens)


def train(model, optimizer, windows, step, last):
    while step < last:
        rows = torch.randint(len(windows), (64,))
        loss = F.cross_entropy(model(windows[rows, :4]), windows[rows, 4])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 100 == 0 or step == 501:
            print(f"[step {step:4d}] loss {loss.item():.3f}")
    return step


def build():
    model = Model()
    return model, torch.optim.AdamW(model.parameters(), lr=2e-3)


def main():
    torch.manual_seed(0)
    windows = make_corpus(6000).unfold(0, 5, 1)
    manager = CheckpointManager()
    model, optimizer = build()
    step = train(model, optimizer, windows, 0, 500)
    manager.save_checkpoint(model, optimizer, step, "500")
    print("resuming from step 500")
    model, optimizer = build()
    step = manager.load_checkpoint(model, optimizer, "500")
    train(model, optimizer, windows, step, 900)


if __name__ == "__main__":
    main()
