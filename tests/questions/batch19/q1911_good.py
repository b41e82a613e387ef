import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)

N = 1024
EPOCHS = 500


def make_data(n):
    x = torch.rand(n, 3)
    y = x[:, 0] + x[:, 1] + x[:, 2]
    return x, y


x_train, y_train = make_data(N)
x_test, y_test = make_data(256)

model = nn.Sequential(nn.Linear(3, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=20)
mse = nn.MSELoss()

for epoch in range(EPOCHS):
    optimizer.zero_grad()
    out = model(x_train)
    loss = mse(out, y_train.unsqueeze(1))
    loss.backward()
    optimizer.step()
    scheduler.step(loss.item())
    if epoch % 100 == 0:
        print(f"epoch {epoch:4d}  loss {loss.item():.6f}")

model.eval()
with torch.no_grad():
    pred = model(x_test)[:, 0]
    err = (pred - y_test).abs().mean().item()

print("weights", [round(w, 3) for w in model[0].weight.flatten().tolist()])
print(f"final train loss {loss.item():.6f}")
print(f"test mean abs error {err:.4f}")
