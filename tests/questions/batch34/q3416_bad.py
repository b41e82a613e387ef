import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Config:
    batch_size = 8
    epochs = 4
    grad_accumulation = 10
    learning_rate = 0.02
    warmup = 0.1


class TinyLM(nn.Module):
    def __init__(self, vocab=40, size=24, context=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, size)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(context * size, 64), nn.ReLU(), nn.Linear(64, vocab))

    def forward(self, tokens):
        return self.net(self.embed(tokens))


def get_scheduler(optimizer, cfg, epoch_steps):
    total = cfg.epochs * epoch_steps // cfg.grad_accumulation
    warmup = int(total * cfg.warmup)

    def rate(step):
        if step < warmup:
            return step / max(1, warmup)
        return max(0.0, (total - step) / max(1, total - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


def run_train(cfg, model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.learning_rate)
    scheduler = get_scheduler(optimizer, cfg, len(loader))
    loss_fn = nn.CrossEntropyLoss()
    optimizer.zero_grad()
    itr = 0
    for epoch in range(cfg.epochs):
        total = 0.0
        for tokens, target in loader:
            itr += 1
            loss = loss_fn(model(tokens), target)
            total += loss.item()
            (loss / cfg.grad_accumulation).backward()
            if itr % cfg.grad_accumulation == 0:
                optimizer.step()
                optimizer.zero_grad()
            scheduler.step()
        print("epoch", epoch, "loss", round(total / len(loader), 3), "lr", optimizer.param_groups[0]["lr"])


def main():
    cfg = Config()
    table = torch.randint(0, 40, (40,))
    tokens = torch.randint(0, 40, (1600, 6))
    data = TensorDataset(tokens, table[tokens[:, -1]])
    run_train(cfg, TinyLM(), DataLoader(data, batch_size=cfg.batch_size, shuffle=True))


main()
