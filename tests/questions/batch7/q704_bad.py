import resource

import torch
from torch import nn

torch.manual_seed(0)


class Statistics:
    def __init__(self):
        self.values = {}

    def device_stat(self, name):
        if name not in self.values:
            self.values[name] = torch.zeros(1)
        return self.values[name]


class Encoder(nn.Module):
    def __init__(self, vocab=200, hidden=32, layers=6, mlm_classes=200):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(
            [
                nn.Sequential(
                    nn.LayerNorm(hidden),
                    nn.Linear(hidden, 2 * hidden),
                    nn.GELU(),
                    nn.Linear(2 * hidden, hidden),
                )
                for _ in range(layers)
            ]
        )
        self.cls = nn.Linear(hidden, mlm_classes)

    def forward(self, ids):
        x = self.embeddings(ids)
        for layer in self.layers:
            x = x + layer(x) + x.mean(1, keepdim=True)
        return self.cls(x)


class Pretraining:
    def __init__(self):
        self.model = Encoder()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.stats = Statistics()
        self.global_step = 0

    def take_training_step(self, ids, labels):
        scores = self.model(ids)
        loss = self.criterion(scores.flatten(0, 1), labels.flatten())
        self.stats.device_stat("average_loss").add_(loss)
        loss.backward()

    def take_optimizer_step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.global_step += 1


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(steps=300):
    training = Pretraining()
    start = None
    for step in range(1, steps + 1):
        ids = torch.randint(0, 200, (8, 12))
        training.take_training_step(ids, (ids * 7 + 3) % 200)
        training.take_optimizer_step()
        if step == 20:
            start = memory_mb()
        if step % 100 == 0:
            average = training.stats.device_stat("average_loss").item() / step
            print(f"step {step}: average loss {average:.4f}, memory +{memory_mb() - start:.1f} MB")


if __name__ == "__main__":
    main()
