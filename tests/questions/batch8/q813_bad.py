import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class SimpleNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        out = self.features(x)
        out = F.max_pool2d(out, kernel_size=out.size()[2:])
        out = F.dropout2d(out, 0.25, training=True)
        out = out.view(out.size(0), -1)
        return self.classifier(out)


def make_images(prototypes, n):
    y = torch.randint(0, len(prototypes), (n,))
    return prototypes[y].unsqueeze(1) + 0.7 * torch.randn(n, 1, 8, 8), y


def main():
    prototypes = torch.randn(5, 8, 8)
    x_test, y_test = make_images(prototypes, 500)
    model = SimpleNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        model.train()
        for _ in range(40):
            x, y = make_images(prototypes, 32)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f} test accuracy {accuracy:.3f}")

    model.eval()
    with torch.no_grad():
        for _ in range(3):
            print("the same image again:", [round(v, 3) for v in model(x_test[:1])[0].tolist()])


if __name__ == "__main__":
    main()
