import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        feat = self.backbone(x)
        return {"logits": self.fc(feat), "feat": feat}


def consistency_loss(logits, targets):
    return F.mse_loss(torch.softmax(logits, dim=-1), torch.softmax(targets.detach(), dim=-1))


class MeanTeacher:
    def __init__(self, ema_m=0.95, lambda_u=10.0):
        self.model = Net()
        self.ema_model = copy.deepcopy(self.model)
        self.ema_m, self.lambda_u = ema_m, lambda_u
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def train_step(self, x_lb, y_lb, x_ulb_w, x_ulb_s):
        logits_x_lb = self.model(x_lb)["logits"]
        with torch.no_grad():
            outs_x_ulb_w = self.ema_model(x_ulb_w)
            logits_x_ulb_w = outs_x_ulb_w["logits"]
        outs_x_ulb_s = self.model(x_ulb_s)
        logits_x_ulb_s = outs_x_ulb_w["logits"]
        sup_loss = F.cross_entropy(logits_x_lb, y_lb)
        unsup_loss = consistency_loss(logits_x_ulb_s, logits_x_ulb_w)
        self.optimizer.zero_grad()
        (sup_loss + self.lambda_u * unsup_loss).backward()
        self.optimizer.step()
        with torch.no_grad():
            for p, e in zip(self.model.parameters(), self.ema_model.parameters()):
                e.mul_(self.ema_m).add_(p, alpha=1 - self.ema_m)
        return sup_loss.item(), unsup_loss.item(), outs_x_ulb_s["feat"].norm(dim=1).mean().item()


def make_data(n, centers):
    y = torch.randint(len(centers), (n,))
    return centers[y] + 1.1 * torch.randn(n, centers.shape[1]), y


def main():
    torch.manual_seed(0)
    centers = torch.randn(4, 16)
    x_lb, y_lb = make_data(12, centers)
    x_ulb, _ = make_data(1000, centers)
    x_test, y_test = make_data(800, centers)
    algorithm = MeanTeacher()
    for epoch in range(8):
        sup = unsup = 0.0
        for _ in range(20):
            x = x_ulb[torch.randint(len(x_ulb), (64,))]
            weak, strong = (
                x + 0.1 * torch.randn_like(x),
                x * (torch.rand_like(x) > 0.3) + 0.5 * torch.randn_like(x),
            )
            s, u, _ = algorithm.train_step(x_lb, y_lb, weak, strong)
            sup, unsup = sup + s / 20, unsup + u / 20
        with torch.no_grad():
            acc = (algorithm.model(x_test)["logits"].argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch}: sup_loss {sup:.4f}  unsup_loss {unsup:.6f}  test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
