import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, ENOUGH, FEATURES = 64, 128, 20


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(FEATURES, 48), nn.ReLU(), nn.Linear(48, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.updates, self.chosen = 0, 0

    def train_model(self, batches, generator):
        accumulated_samples, grad_share = 0, []
        for step in range(batches):
            x, y = make_batch(BATCH, generator)
            predictions = torch.sigmoid(self.model(x).squeeze(1))
            hard = ((y == 0) & (predictions >= 0.2)) | ((y == 1) & (predictions < 0.8))
            if not hard.any():
                continue
            loss = F.binary_cross_entropy(predictions[hard], y[hard], reduction="sum") / ENOUGH
            loss.backward()
            accumulated_samples += int(hard.sum())
            self.chosen += int(hard.sum())
            if accumulated_samples >= ENOUGH:
                grad_share.append(int(hard.sum()) / accumulated_samples)
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.updates += 1
                accumulated_samples = 0
            if step % 100 == 99:
                self.report(step, sum(grad_share) / len(grad_share))

    def report(self, step, share):
        x, y = make_batch(4000, torch.Generator().manual_seed(99))
        with torch.no_grad():
            logits = self.model(x).squeeze(1)
        found = (logits[y == 1] > 0).float().mean().item()
        loss = F.binary_cross_entropy_with_logits(logits, y).item()
        print(
            f"batch {step}: test loss {loss:.3f} wake words found {found:.3f}; {self.updates} updates, "
            f"{self.chosen / self.updates:.0f} clips for each ({share:.2f} of them in its last batch)"
        )


def make_batch(n, generator):
    y = (torch.rand(n, generator=generator) < 0.3).float()
    word = torch.randn(FEATURES, generator=torch.Generator().manual_seed(6)) * 0.45
    x = torch.randn(n, FEATURES, generator=generator)
    return x + y.unsqueeze(1) * word + 0.4 * x.roll(1, 1) * y.unsqueeze(1), y


def main():
    torch.manual_seed(0)
    Model().train_model(600, torch.Generator().manual_seed(1))


if __name__ == "__main__":
    main()
