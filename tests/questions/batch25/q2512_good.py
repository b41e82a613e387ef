import torch

torch.manual_seed(1)

D_in = 20
D_out = 20
batch = 512
epochs = 5000
learning_rate = 0.01

model = torch.nn.Sequential(
    torch.nn.Linear(D_in, D_out),
)

slope, intercept = 3.0, 5.0
x_data = torch.rand(batch, D_in)
y_data = torch.zeros(batch, D_out)
for i in range(batch):
    y_data[i] = slope * x_data[i] + intercept

loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

for epoch in range(epochs):
    y_pred = model(x_data)
    loss = loss_fn(y_pred, y_data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (epoch + 1) % (epochs // 5) == 0:
        print("epoch %4d   loss per value %.6f" % (epoch + 1, loss.item() / y_data.numel()))

with torch.no_grad():
    for value in (0.0, 0.5, 1.0):
        answer = model(torch.full((1, D_in), value))
        print("x = %.1f   expected %.2f   model %.2f +- %.2f" % (value, slope * value + intercept, answer.mean(), answer.std()))
    fresh = torch.rand(200, D_in)
    error = (model(fresh) - (slope * fresh + intercept)).abs().mean()
    print("mean error on fresh rows %.3f" % error)
