import torch

torch.manual_seed(0)


class ThreeLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super().__init__()
        self.D_in, self.H, self.D_out = D_in, H, D_out
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, H)
        self.linear3 = torch.nn.Linear(H, D_out)

    def forward(self, x):
        h_relu = self.linear1(x).clamp(min=0)
        h_relu = self.linear2(h_relu).clamp(min=0)
        y_pred = self.linear3(h_relu)
        return self.scale * y_pred


def fit(model, x, y, epochs):
    criterion = torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for t in range(epochs):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % 75 == 0:
            print(t, f"{loss.item():.4f}")
    return loss.item()


N, D_in, H, D_out = 64, 100, 50, 4
x, y = torch.randn(N, D_in), torch.randn(N, D_out)
model = ThreeLayerNet(D_in, H, D_out)
print("parameters:", sum(p.numel() for p in model.parameters()))
print(f"final loss {fit(model, x, y, 300):.4f}")
