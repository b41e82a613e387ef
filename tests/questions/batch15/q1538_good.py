import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


def make_sequences(count, seed):
    generator = torch.Generator().manual_seed(seed)
    bases = torch.randint(4, (count, 40), generator=generator)
    motif = torch.tensor([2, 0, 3, 0, 1, 2])
    label = torch.randint(2, (count,), generator=generator).float()
    for i in label.nonzero().flatten().tolist():
        start = torch.randint(34, (1,), generator=generator).item()
        bases[i, start : start + 6] = motif
    flip = torch.rand(count, generator=generator) < 0.05
    label = torch.where(flip, 1 - label, label)
    return nn.functional.one_hot(bases, 4).float().transpose(1, 2), label


class TrainModel:
    def __init__(self, model, optimizer, train, valid, batch_size=32):
        self.model, self.optimizer = model, optimizer
        self.train_set, self.valid_set, self.batch_size = train, valid, batch_size
        self.criterion = nn.BCEWithLogitsLoss()
        self.scheduler = ReduceLROnPlateau(self.optimizer, mode="min", patience=2, factor=0.5)

    def train(self):
        self.model.train()
        x, y = self.train_set
        rows = torch.randint(len(x), (self.batch_size,))
        loss = self.criterion(self.model(x[rows]).squeeze(1), y[rows])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def validate(self):
        self.model.eval()
        x, y = self.valid_set
        with torch.no_grad():
            logits = self.model(x).squeeze(1)
        loss = self.criterion(logits, y).item()
        return loss, ((logits > 0) == (y > 0.5)).float().mean().item()

    def train_and_validate(self, max_steps, report_every):
        losses = []
        for step in range(max_steps):
            losses.append(self.train())
            if (step + 1) % report_every == 0:
                valid_loss, accuracy = self.validate()
                self.scheduler.step(valid_loss)
                if (step + 1) % (4 * report_every) == 0:
                    rate = self.optimizer.param_groups[0]["lr"]
                    recent = sum(losses[-report_every:]) / report_every
                    print(
                        f"step {step + 1}: train {recent:.4f}  valid {valid_loss:.4f}"
                        f"  accuracy {accuracy:.3f}  lr {rate:.6f}"
                    )


def main():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv1d(4, 12, 6),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
        nn.Linear(12, 16),
        nn.ReLU(),
        nn.Linear(16, 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.0)
    trainer = TrainModel(model, optimizer, make_sequences(3000, seed=1), make_sequences(600, seed=2))
    trainer.train_and_validate(max_steps=1600, report_every=40)


if __name__ == "__main__":
    main()
