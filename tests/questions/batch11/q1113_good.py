import torch
import torch.nn as nn
import torch.nn.functional as F


def create_model(ema=False, dim=20, classes=6):
    model = nn.Sequential(nn.Linear(dim, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, classes))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


class WeightEMA:
    def __init__(self, model, ema_model, lr, alpha=0.995):
        self.alpha = alpha
        self.params = list(model.state_dict().values())
        self.ema_params = list(ema_model.state_dict().values())
        self.wd = 0.02 * lr
        for param, ema_param in zip(self.params, self.ema_params):
            param.data.copy_(ema_param.data)

    def step(self):
        for param, ema_param in zip(self.params, self.ema_params):
            ema_param.mul_(self.alpha)
            ema_param.add_(param * (1 - self.alpha))
            param.mul_(1 - self.wd)


class SemiLoss:
    def __call__(self, logits_x, targets_x, logits_u, targets_u):
        probs_u = torch.softmax(logits_u, dim=1)
        lx = -torch.mean(torch.sum(F.log_softmax(logits_x, dim=1) * targets_x, dim=1))
        lu = torch.mean((probs_u - targets_u) ** 2)
        return lx, lu


def make_data(centres, n):
    y = torch.randint(0, len(centres), (n,))
    return centres[y] + torch.randn(n, centres.shape[1]), y


@torch.no_grad()
def validate(x, y, model, criterion):
    out = model(x)
    return criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main(lr=2e-3, epochs=6, iters=60, temperature=0.5):
    torch.manual_seed(4)
    centres = torch.randn(6, 20) * 0.9
    x_l, y_l = make_data(centres, 60)
    x_u, _ = make_data(centres, 2000)
    x_val, y_val = make_data(centres, 1000)
    model, ema_model = create_model(), create_model(ema=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    ema_optimizer = WeightEMA(model, ema_model, lr)
    train_criterion, criterion = SemiLoss(), nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for it in range(iters):
            i = torch.randint(0, len(x_l), (32,))
            u = x_u[torch.randint(0, len(x_u), (32,))]
            targets_x = F.one_hot(y_l[i], 6).float()
            with torch.no_grad():
                p = (torch.softmax(model(u), 1) + torch.softmax(model(u + 0.2 * torch.randn_like(u)), 1)) / 2
                pt = p ** (1 / temperature)
                targets_u = pt / pt.sum(dim=1, keepdim=True)
            lx, lu = train_criterion(
                model(x_l[i]), targets_x, model(u + 0.2 * torch.randn_like(u)), targets_u
            )
            loss = lx + 10 * min(1.0, epoch / epochs) * lu
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema_optimizer.step()
        val_loss, val_acc = validate(x_val, y_val, ema_model, criterion)
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}  ema val loss {val_loss:.4f}  acc {val_acc:.3f}")


main()
