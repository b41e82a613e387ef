import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, dim=20, classes=5):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.features(x))


class ResampleTrainer:
    def __init__(self, model, n_background):
        self.model = model
        self.log_weight = nn.Parameter(torch.zeros(n_background))
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.optimizer_w = torch.optim.Adam([self.log_weight], lr=0.05)

    def background_loss(self, logits):
        return -(logits.mean(1) - torch.logsumexp(logits, dim=1))

    def train_epoch(self, loader, background):
        total = total_w = 0.0
        for (x, y), index in loader:
            out_in = self.model(x)
            out_bg = self.model(background[index])
            weight = torch.softmax(self.log_weight[index], dim=0)
            per_sample = self.background_loss(out_bg)
            loss = F.cross_entropy(out_in, y) + 0.3 * (weight.detach() * per_sample).sum()
            loss_w = -(weight * per_sample).sum()

            self.optimizer.zero_grad()
            self.optimizer_w.zero_grad()
            loss.backward(retain_graph=True)
            loss_w.backward(inputs=[self.log_weight])
            self.optimizer.step()
            self.optimizer_w.step()
            total += loss.item()
            total_w += loss_w.item()
        return total, total_w


def make_loader(x, y, n_background, size=50):
    batches = []
    for index in torch.randperm(len(x)).split(size):
        batches.append(((x[index], y[index]), torch.randint(0, n_background, (size,))))
    return batches


def main():
    centers = 2 * torch.randn(5, 20)
    y = torch.randint(0, 5, (600,))
    x = centers[y] + torch.randn(600, 20)
    background = 2 * torch.randn(400, 20)
    trainer = ResampleTrainer(Classifier(), len(background))
    for epoch in range(1, 11):
        total, total_w = trainer.train_epoch(make_loader(x, y, 400), background)
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {total / 12:.4f} weights {total_w / 12:.4f}")


if __name__ == "__main__":
    main()
