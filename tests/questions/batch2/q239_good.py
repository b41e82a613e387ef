import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, classes)
        )

    def forward(self, x):
        return self.net(x)


class FixMatch:
    def __init__(self, threshold=0.9, lambda_u=1.0, clip=1.0, lr=0.1):
        self.model = Net()
        self.threshold, self.lambda_u, self.clip = threshold, lambda_u, clip
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.scaler = torch.amp.GradScaler("cpu")

    def losses(self, x_lb, y_lb, x_ulb):
        weak = x_ulb + 0.05 * torch.randn_like(x_ulb)
        strong = x_ulb + 0.4 * torch.randn_like(x_ulb)
        logits = self.model(torch.cat([x_lb, strong]))
        with torch.no_grad():
            max_probs, pseudo = torch.softmax(self.model(weak), dim=-1).max(-1)
            mask = (max_probs >= self.threshold).float()
        sup = F.cross_entropy(logits[: len(x_lb)], y_lb)
        unsup = (F.cross_entropy(logits[len(x_lb) :], pseudo, reduction="none") * mask).mean()
        return sup, unsup, mask.mean()

    def train(self, loader, iterations):
        for it in range(iterations):
            x_lb, y_lb, x_ulb = loader()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                sup, unsup, used = self.losses(x_lb, y_lb, x_ulb)
                total = sup + self.lambda_u * unsup
            self.scaler.scale(total).backward()
            if self.clip > 0:
                self.scaler.unscale_(self.optimizer)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            if it % 50 == 49:
                print(f"it {it} sup {sup.item():.4f} unsup {unsup.item():.4f} mask {used:.2f}")


class Loader:
    def __init__(self):
        self.centers = 1.2 * torch.randn(4, 16)

    def __call__(self, n=16, ratio=4):
        y = torch.randint(0, 4, (n * (1 + ratio),))
        x = self.centers[y] + torch.randn(len(y), 16)
        return x[:n], y[:n], x[n:]


torch.manual_seed(0)
FixMatch().train(Loader(), 300)
