import torch
import torch.nn as nn

torch.manual_seed(13)


def make(count):
    x = torch.randn(count, 20)
    y = (x[:, 0] > 0).long()
    noisy = torch.rand(count) < 0.3
    return x, torch.where(noisy, 1 - y, y)


data = {"train": make(300), "val": make(100)}
test_x, test_y = make(1000)
config = {
    "train": {"train_iters": 30, "val_iters": 10, "batchsize": 10, "epochs": 25},
    "inference": {"net": nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))},
}
config["train"]["optimizer"] = torch.optim.Adam(config["inference"]["net"].parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()


def data_func(phase):
    x, y = data[phase]
    size = config["train"]["batchsize"]
    for idx in torch.randperm(len(x)).split(size):
        yield {"imgs": x[idx], "labels": y[idx]}


def make_train(batch_id, config, phase, imgs, labels):
    net = config["inference"]["net"]
    if phase != "inference":
        optimizer = config["train"]["optimizer"]
        net.train()
        result = net(imgs)
        loss = criterion(result, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), (result.argmax(1) == labels).float().mean().item()
    net.eval()
    with torch.no_grad():
        return net(imgs).argmax(1)


for epoch in range(config["train"]["epochs"]):
    summary = {}
    for phase in ["train", "val"]:
        num_step = config["train"][f"{phase}_iters"]
        generator = data_func(phase)
        losses, accs = 0.0, 0.0
        for i in range(num_step):
            loss, acc = make_train(epoch * num_step + i, config, phase, **next(generator))
            losses += loss / num_step
            accs += acc / num_step
        summary[phase] = (losses, accs)
    if epoch % 6 == 0:
        print(f"epoch {epoch} train {summary['train'][0]:.3f}/{summary['train'][1]:.3f} "
              f"val {summary['val'][0]:.3f}/{summary['val'][1]:.3f}")

test_pred = make_train(0, config, "inference", test_x, None)
print(f"test accuracy {(test_pred == test_y).float().mean().item():.3f}")
