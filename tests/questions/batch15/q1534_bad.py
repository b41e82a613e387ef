import copy

import torch
from torch import nn


class EMAHandler:
    def __init__(self, model, momentum=0.05):
        self.model, self.momentum = model, momentum
        self.ema_model = copy.deepcopy(model)
        for param in self.ema_model.parameters():
            param.requires_grad_(False)
        self.ema_model.eval()

    @torch.no_grad()
    def update_ema_model(self):
        for ema_p, model_p in zip(self.ema_model.parameters(), self.model.parameters()):
            ema_p.mul_(1.0 - self.momentum).add_(model_p, alpha=self.momentum)


class SoundNet(nn.Module):
    def __init__(self, bands, events):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(bands, 32, 5, padding=2),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(32, 32, 3, padding=1),
            nn.BatchNorm1d(32),
            nn.ReLU(),
        )
        self.head = nn.Linear(32, events)

    def forward(self, x):
        return self.head(self.body(x).mean(2))


def make_clips(count, generator, bands=16, frames=32, events=6):
    envelope = torch.rand(events, bands, generator=torch.Generator().manual_seed(3))
    labels = torch.randint(events, (count,), generator=generator)
    loudness = 12 + 6 * torch.rand(count, 1, 1, generator=generator)
    ripple = 0.7 * torch.randn(count, bands, frames, generator=generator)
    return loudness * (1 + envelope[labels][:, :, None]) + 12 * ripple, labels


def accuracy(model, x, y):
    training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(x)
    model.train(training)
    return (logits.argmax(1) == y).float().mean().item(), nn.functional.cross_entropy(logits, y).item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    labelled, labels = make_clips(120, generator)
    unlabelled, _ = make_clips(960, generator)
    test_x, test_y = make_clips(600, generator)
    student = SoundNet(16, 6)
    handler = EMAHandler(student)
    optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
    for epoch in range(8):
        student.train()
        supervised, consistency = 0.0, 0.0
        for rows in torch.randperm(len(unlabelled)).split(60):
            picked = torch.randint(len(labelled), (24,))
            clips = torch.cat([labelled[picked], unlabelled[rows]])
            logits = student(clips + 0.3 * torch.randn_like(clips))
            with torch.no_grad():
                teacher = handler.ema_model(clips + 0.3 * torch.randn_like(clips))
            class_loss = nn.functional.cross_entropy(logits[:24], labels[picked])
            consistency_loss = nn.functional.mse_loss(logits.softmax(1), teacher.softmax(1))
            loss = class_loss + 2 * consistency_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            handler.update_ema_model()
            supervised += class_loss.item() / 16
            consistency += consistency_loss.item() / 16
        own, own_loss = accuracy(student, test_x, test_y)
        ema, ema_loss = accuracy(handler.ema_model, test_x, test_y)
        print(
            f"epoch {epoch}: class loss {supervised:.3f}  consistency {consistency:.4f}"
            f"  student {own:.3f} ({own_loss:.2f})  EMA teacher {ema:.3f} ({ema_loss:.2f})"
        )


if __name__ == "__main__":
    main()
